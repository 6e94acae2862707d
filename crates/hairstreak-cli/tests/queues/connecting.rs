//! Addresses of the broker, and the errors of a broker that is absent or refuses.

use std::net::TcpListener;
use std::process::Command;

use crate::daemon::Daemon;
use crate::harness::{Broker, HAIRSTREAK, end};

/// Runs `purge q` at this address. It must fail with this status. Returns its line on standard error.
#[track_caller]
fn refused(url: &str, status: i32) -> String {
    let mut command = Command::new(HAIRSTREAK);
    command.args(["purge", "q", "--connect-timeout", "1s", "--url", url]).env_remove("AMQP_URL");
    command.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    end(command.spawn().unwrap(), b"").bad(status)
}

#[test]
fn a_broker_that_is_not_there_is_one_clear_line() {
    let place = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let reason = refused(&format!("amqp://{place}"), 1);
    let expected =
        format!("cannot connect to {place}: Connection refused (os error 111); is a broker running there?");
    assert!(reason.starts_with(&expected), "{reason}");
    let reason = refused("amqp+unix:///no/such/socket", 1);
    assert!(reason.starts_with("cannot connect to /no/such/socket: No such file"), "{reason}");
}

#[test]
fn addresses_that_make_no_sense_are_refused_without_the_password() {
    for (url, expected) in [
        (
            "amqps://me:secret@host?verify=verify_none",
            "--url: the broker's certificate is always verified: name its CA by --ca FILE",
        ),
        ("http://me:secret@host", "--url: http:// is neither amqp://, amqps:// nor amqp+unix://"),
        ("host", "--url: a broker's address is amqp://USER:PASSWORD@HOST:PORT/VIRTUAL-HOST"),
    ] {
        assert_eq!(refused(url, 2), expected);
    }
}

#[test]
fn the_broker_says_who_may_not_come_in() {
    let broker = Broker::start();
    let place = broker.url.strip_prefix("amqp://").unwrap();
    let reason = refused(&format!("amqp://guest:wrong@{place}"), 1);
    assert!(
        reason.starts_with("ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN"),
        "{reason}"
    );
    let reason = refused(&format!("amqp://{place}/no%2Fsuch"), 1);
    assert_eq!(reason, "NOT_ALLOWED - vhost no/such not found; the broker closed the connection");
}

#[test]
fn other_protocols_and_silence_are_noticed() {
    let mut node = Daemon::start("serve", &["--bind", "tcp://127.0.0.1:*", "--no-services", "--no-amqp"]);
    let place = node.place("directory").replace("tcp://", "");
    assert_eq!(refused(&format!("amqp://{place}"), 1), format!("{place} does not speak AMQP 0-9-1"));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = silent.local_addr().unwrap();
    assert_eq!(refused(&format!("amqp://{place}"), 1), "no answer for 1 s to the protocol header");
}
