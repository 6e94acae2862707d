//! Peers that attack: forged, replayed, cut and oversized commands. Each is refused, the good peer is served.

use hairstreak_socket::security::{Authenticator, Mechanisms, Security, Server};
use hairstreak_socket::{Context, Options, Pull, Push};
use hairstreak_testkit::{until, until_at_least};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::raw::{COMMAND, Raw, command, frame, greeting, long_header};
use crate::relay::{Change, Relay};
use crate::roles::{Roles, secured};

/// A PULL that takes all mechanisms, with one good client.
struct Besieged {
    pull: Pull,
    place: String,
    good: Push,
    count: usize,
}

impl Besieged {
    fn new(roles: &Roles) -> Besieged {
        let mechanisms = Mechanisms { null: false, plain: true, curve: Some(roles.server_keys.clone()) };
        let server = Server::new(mechanisms, Authenticator::Table(roles.table()));
        let options = Options { message_size_max: 10_000, ..secured(Security::Server(server)) };
        let pull = Pull::with_options(&Context::new(), options).unwrap();
        let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
        let good = Push::with_options(&Context::new(), roles.client()).unwrap();
        good.connect(&place).unwrap();
        let mut besieged = Besieged { pull, place, good, count: 0 };
        besieged.exchange();
        besieged
    }

    fn exchange(&mut self) {
        let body = format!("good {}", self.count);
        self.good.send_timeout(body.as_bytes(), LONG).unwrap();
        self.good.flush();
        assert_eq!(self.pull.recv_timeout(LONG).unwrap().body(), body.as_bytes());
        self.count += 1;
    }

    fn serve_until_failed(&mut self, count: u64) {
        until_at_least("failed connections", count, || {
            self.exchange();
            self.pull.stats().failed_connections
        });
    }
}

fn greeting_of(mechanism: &str) -> Vec<u8> {
    let mut bytes = greeting();
    bytes[12..32].fill(0);
    bytes[12..12 + mechanism.len()].copy_from_slice(mechanism.as_bytes());
    bytes
}

#[test]
fn bad_commands_before_ready_get_an_error_and_are_counted() {
    let roles = Roles::new("curve");
    let mut besieged = Besieged::new(&roles);
    let hello = |size| command("HELLO", &vec![1; size]);
    let mut version = vec![0; 194];
    version[0] = 2;
    let attacks: Vec<(&str, Vec<u8>)> = vec![
        ("CURVE", hello(0)),
        ("CURVE", hello(193)),
        ("CURVE", hello(194)),
        ("CURVE", hello(195)),
        ("CURVE", hello(32_000)),
        ("CURVE", command("HELLO", &version)),
        ("CURVE", command("INITIATE", &[0; 300])),
        ("CURVE", command("WELCOME", &[0; 160])),
        ("CURVE", command("READY", &[])),
        ("CURVE", command("MESSAGE", &[0; 40])),
        ("CURVE", frame(0, b"\x07MESSAGE")),
        ("CURVE", long_header(COMMAND, 33_000)),
        ("CURVE", long_header(COMMAND, u64::MAX)),
        ("PLAIN", command("HELLO", b"")),
        ("PLAIN", command("HELLO", b"\x03ann")),
        ("PLAIN", command("HELLO", b"\x03ann\x06secre")),
        ("PLAIN", command("HELLO", b"\x03ann\x06secret!")),
        ("PLAIN", command("HELLO", b"\xff\xff")),
        ("PLAIN", command("INITIATE", b"")),
        ("PLAIN", command("READY", b"")),
        ("PLAIN", long_header(COMMAND, 33_000)),
    ];
    for (index, (mechanism, attack)) in attacks.iter().enumerate() {
        let mut raw = Raw::connect(&besieged.place);
        raw.send(&greeting_of(mechanism));
        assert_eq!(raw.read_exactly(64)[12..17], mechanism.as_bytes()[..5]);
        raw.send(attack);
        let said = raw.wait_for_end();
        assert_eq!(said.get(2..8), Some(&b"\x05ERROR"[..]), "attack {index}: {}", said.escape_ascii());
        besieged.serve_until_failed(index as u64 + 1);
    }
    let mut raw = Raw::connect(&besieged.place);
    raw.send(&greeting_of("PLAIN"));
    raw.read_exactly(64);
    raw.send(&command("HELLO", b"\x03ann\x06Secret"));
    assert_eq!(raw.wait_for_end(), b"\x04\x0a\x05ERROR\x03400", "the status and nothing else");
}

/// A client behind a relay that changes its traffic: the message that was changed never arrives, and the connection
/// that carried it ends.
fn check_changed(change: impl Fn() -> Box<Change> + Send + 'static) {
    let roles = Roles::new("curve");
    let mut besieged = Besieged::new(&roles);
    let relay = Relay::changing(&besieged.place, change);
    let victim = Push::with_options(&Context::new(), roles.client()).unwrap();
    victim.connect(relay.place()).unwrap();
    victim.send_timeout("one", LONG).unwrap();
    victim.flush();
    assert_eq!(besieged.pull.recv_timeout(LONG).unwrap().body(), b"one");
    victim.send_timeout("two", LONG).unwrap();
    victim.flush();
    // It may have been read before what was done to it was noticed; it is never read twice or changed.
    until("the victim's connection has failed", || {
        besieged.good.send_timeout("good", LONG).unwrap();
        besieged.good.flush();
        let got = besieged.pull.recv_timeout(LONG).unwrap();
        assert!([&b"good"[..], b"two"].contains(&got.body()), "{got:?}");
        besieged.pull.stats().failed_connections > 0
    });
    besieged.exchange_past(b"good");
}

impl Besieged {
    fn exchange_past(&mut self, other: &[u8]) {
        self.good.send_timeout("last", LONG).unwrap();
        self.good.flush();
        loop {
            match self.pull.recv_timeout(LONG).unwrap().body() {
                b"last" => return,
                body => assert!(body == other || body == b"two", "{}", body.escape_ascii()),
            }
        }
    }
}

/// The frame of a MESSAGE with three bytes of payload.
fn is_message(bytes: &[u8]) -> bool {
    bytes.len() == 2 + 33 + 3 && bytes[..10] == *b"\x00\x24\x07MESSAGE"
}

#[test]
fn a_replayed_message_ends_the_connection_and_is_not_received_again() {
    check_changed(|| {
        Box::new(|bytes| if is_message(bytes) { [bytes, bytes].concat() } else { bytes.to_vec() })
    });
}

#[test]
fn a_changed_message_ends_the_connection_wherever_it_was_changed() {
    for at in [3, 12, 17, 20, 34, 35, 37] {
        check_changed(move || {
            let mut seen = 0;
            Box::new(move |bytes| {
                let mut bytes = bytes.to_vec();
                if is_message(&bytes) {
                    seen += 1;
                    if seen == 2 {
                        bytes[at] ^= 1;
                    }
                }
                bytes
            })
        });
    }
}

#[test]
fn messages_in_the_clear_behind_a_curve_handshake_end_the_connection() {
    check_changed(|| {
        let mut seen = 0;
        Box::new(move |bytes| {
            seen += usize::from(is_message(bytes));
            if seen == 2 { b"\x00\x03two".to_vec() } else { bytes.to_vec() }
        })
    });
}

#[test]
fn an_oversized_message_ends_the_connection() {
    let roles = Roles::new("curve");
    let mut besieged = Besieged::new(&roles);
    for (size, fits) in [(10_000, true), (10_001, false), (100_000, false)] {
        let victim = Push::with_options(&Context::new(), roles.client()).unwrap();
        victim.connect(&besieged.place).unwrap();
        let failed = besieged.pull.stats().failed_connections;
        victim.send_timeout(&vec![7; size][..], LONG).unwrap();
        victim.flush();
        if fits {
            assert_eq!(besieged.pull.recv_timeout(LONG).unwrap().body().len(), size);
        } else {
            besieged.serve_until_failed(failed + 1);
        }
    }
}
