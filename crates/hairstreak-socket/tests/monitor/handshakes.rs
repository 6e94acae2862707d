//! Handshakes that fail: both sides are told, and each why as far as it can know.

use hairstreak_socket::monitor::{Event, EventKind, HandshakeFailure};
use hairstreak_socket::security::{Login, Security};
use hairstreak_socket::{Context, Options, Pull, Push, Sub};

use crate::endpoints::endpoint;
use crate::roles::{Roles, secured};
use crate::script::Script;
use crate::witness::Witness;

fn failure(witness: &mut Witness) -> (HandshakeFailure, String, Event) {
    let event = witness.wait_for(|kind| matches!(kind, EventKind::HandshakeFailed { .. }));
    let EventKind::HandshakeFailed { failure, reason } = event.kind.clone() else { unreachable!() };
    (failure, reason, event)
}

/// How the handshake of a PULL with these options and a PUSH with those fails, for each.
fn failures(transport: &str, bound: Options, connected: Options) -> [HandshakeFailure; 2] {
    let pull = Pull::with_options(&Context::new(), bound).unwrap();
    let push = Push::with_options(&Context::new(), connected).unwrap();
    let (mut host, mut guest) = (Witness::of(&pull), Witness::of(&push));
    let place = pull.bind(&endpoint(transport)).unwrap();
    push.connect(&place.to_string()).unwrap();
    let (of_host, _, event) = failure(&mut host);
    assert_eq!(event.endpoint.as_ref(), Some(&place));
    assert!(event.connection.is_some());
    let (of_guest, _, event) = failure(&mut guest);
    assert_eq!(event.endpoint.as_ref(), Some(&place));
    guest.wait_for(|kind| matches!(kind, EventKind::Retrying { .. }));
    [of_host, of_guest]
}

#[test]
fn another_mechanism_is_told() {
    for transport in ["tcp", "ipc"] {
        for (server, client) in [("plain", "null"), ("null", "plain"), ("curve", "plain")] {
            let (server, client) = (Roles::new(server), Roles::new(client));
            let seen = failures(transport, server.server(), client.client());
            // Who sees it first hangs up on the other.
            let possible = [HandshakeFailure::Mechanism, HandshakeFailure::Disconnected];
            assert!(seen.contains(&HandshakeFailure::Mechanism), "{seen:?}");
            assert!(seen.iter().all(|failure| possible.contains(failure)), "{seen:?}");
        }
    }
}

#[test]
fn credentials_that_are_refused_are_told_with_the_status_on_both_sides() {
    for transport in ["tcp", "ipc"] {
        let roles = Roles::new("plain");
        let wrong = secured(Security::Plain(Login::new(b"ann", b"wrong").unwrap()));
        let status = HandshakeFailure::Auth { status: 400 };
        assert_eq!(failures(transport, roles.server(), wrong), [status, status]);
        let roles = Roles::new("curve");
        let stranger = Roles::new("curve").client_keys;
        let seen = failures(transport, roles.server(), secured(roles.curve_client(&stranger)));
        assert_eq!(seen, [status, status]);
    }
}

#[test]
fn keys_that_do_not_fit_are_told() {
    let (roles, other) = (Roles::new("curve"), Roles::new("curve"));
    let misled = secured(other.curve_client(&roles.client_keys));
    let [host, guest] = failures("tcp", roles.server(), misled);
    assert_eq!(host, HandshakeFailure::Keys);
    assert!(matches!(guest, HandshakeFailure::Refused | HandshakeFailure::Disconnected), "{guest:?}");
}

#[test]
fn another_socket_type_is_told() {
    for transport in ["tcp", "ipc", "inproc"] {
        let (pull, sub) = (Pull::new(&Context::new()).unwrap(), Sub::new(&Context::new()).unwrap());
        let (mut host, mut guest) = (Witness::of(&pull), Witness::of(&sub));
        let place = pull.bind(&endpoint(transport)).unwrap().to_string();
        sub.connect(&place).unwrap();
        let (seen, reason, event) = failure(&mut guest);
        assert_eq!(event.endpoint.unwrap().to_string(), place);
        if transport == "inproc" {
            assert_eq!(seen, HandshakeFailure::SocketType);
            assert_eq!(reason, "a SUB cannot talk to a PULL peer");
            continue;
        }
        let (by_host, other_reason, _) = failure(&mut host);
        let both = [(seen, reason.as_str()), (by_host, other_reason.as_str())];
        assert!(both.iter().any(|(seen, reason)| {
            *seen == HandshakeFailure::SocketType && reason.contains("cannot talk to a")
        }));
    }
}

#[test]
fn a_login_that_libzmq_refuses_is_told_with_the_status() {
    for transport in ["tcp", "ipc"] {
        let roles = Roles::new("plain");
        let arguments = ["pull", "bind", &endpoint(transport), "0"].map(str::to_owned);
        let mut script = Script::python("secure.py", arguments.into_iter().chain(roles.server_arguments()));
        let wrong = secured(Security::Plain(Login::new(b"ann", b"wrong").unwrap()));
        let push = Push::with_options(&Context::new(), wrong).unwrap();
        let mut monitor = Witness::of(&push);
        push.connect(&script.hear("bound")).unwrap();
        let (seen, reason, _) = failure(&mut monitor);
        assert_eq!(seen, HandshakeFailure::Auth { status: 400 }, "{reason}");
        assert!(script.hear("handshake").starts_with("auth"));
    }
}

#[test]
fn a_login_of_libzmq_that_is_refused_is_told_with_the_status() {
    let roles = Roles::new("plain");
    let pull = Pull::with_options(&Context::new(), roles.server()).unwrap();
    let mut monitor = Witness::of(&pull);
    let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
    let arguments = ["push", "connect", &place, "0", "plain-client", "ann", "wrong"].map(str::to_owned);
    let _script = Script::python("secure.py", arguments);
    let (seen, reason, event) = failure(&mut monitor);
    assert_eq!(seen, HandshakeFailure::Auth { status: 400 }, "{reason}");
    assert!(event.remote.is_some());
}

#[test]
fn a_peer_that_speaks_something_else_or_nothing_is_told() {
    use std::io::Write;
    let pull = Pull::new(&Context::new()).unwrap();
    let mut monitor = Witness::of(&pull);
    let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
    let address = place.strip_prefix("tcp://").unwrap();
    let mut web = std::net::TcpStream::connect(address).unwrap();
    web.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(failure(&mut monitor).0, HandshakeFailure::Protocol);
    drop(std::net::TcpStream::connect(address).unwrap());
    assert_eq!(failure(&mut monitor).0, HandshakeFailure::Disconnected);
    let impatient = Options { handshake_timeout_ms: 100, ..Options::default() };
    let pull = Pull::with_options(&Context::new(), impatient).unwrap();
    let mut monitor = Witness::of(&pull);
    let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
    let _mute = std::net::TcpStream::connect(place.strip_prefix("tcp://").unwrap()).unwrap();
    assert_eq!(failure(&mut monitor).0, HandshakeFailure::TimedOut);
}
