//! A sender that closes while its receiver is behind, one of them pyzmq's: what a send accepted arrives, all of it.
//! tests/closing has the rest.

use std::fmt::Display;

use hairstreak_socket::{Context, Options, Pull, Push};

use crate::endpoints::endpoint;
use crate::script::Script;
use crate::soak::amount;
use crate::stream::{Stream, Tally};
use crate::{LONG, PAUSE};

/// PINGs all the time, from sides that are in no hurry to have them answered.
const HEARTBEAT_MS: u64 = 10;
const HEARTBEAT_TIMEOUT_MS: u64 = 60_000;

fn heartbeats() -> Options {
    let (heartbeat_ms, heartbeat_timeout_ms) = (HEARTBEAT_MS, HEARTBEAT_TIMEOUT_MS);
    Options { heartbeat_ms, heartbeat_timeout_ms, ..Options::default() }
}

fn runs() -> u64 {
    amount(8, 100) as u64
}

/// Sends until nobody takes more, closes, and returns the tally.
fn fill_and_close(push: Push, seed: u64) -> Tally {
    let (mut stream, mut tally) = (Stream::new(seed), Tally::default());
    assert!(push.wait_for_peers(1, LONG));
    loop {
        let frames = stream.draw();
        if push.send_timeout(&frames[..], PAUSE).is_err() {
            break;
        }
        tally.add(frames.iter().copied());
    }
    push.close();
    tally
}

fn receive(pull: &Pull, place: &impl Display, count: u64) -> Tally {
    let mut tally = Tally::default();
    for number in 0..count {
        match pull.recv_timeout(LONG) {
            Ok(message) => tally.add_message(&message),
            Err(error) => panic!("{place}: message {number} of {count}: {error}, {:?}", pull.stats()),
        }
    }
    tally
}

/// With `heartbeat_ms` the receiver writes to a sender that may be gone.
fn check_from_us_to_pyzmq(transport: &str, heartbeat_ms: u64) {
    let mut script = Script::python("closing.py", [""; 0]);
    for run in 0..runs() {
        let push = Push::new(&Context::new()).unwrap();
        let place = push.bind(&endpoint(transport)).unwrap();
        script.say(&format!("pull {place} {heartbeat_ms}"));
        script.hear("connected");
        let sent = fill_and_close(push, run);
        script.say(&format!("receive {}", sent.messages()));
        assert_eq!(script.hear("tally"), sent.text(), "{transport}, run {run}");
    }
}

fn check_from_pyzmq_to_us(transport: &str, options: &Options) {
    let mut script = Script::python("closing.py", [""; 0]);
    for run in 0..runs() {
        let pull = Pull::with_options(&Context::new(), options.clone()).unwrap();
        let place = pull.bind(&endpoint(transport)).unwrap();
        script.say(&format!("hoard {place} 3000 {run}"));
        let sent = script.hear("tally");
        assert_eq!(receive(&pull, &place, 3000).text(), sent, "{transport}, run {run}");
    }
}

#[test]
fn all_arrives_from_us_to_pyzmq() {
    for transport in ["tcp", "ipc"] {
        check_from_us_to_pyzmq(transport, 0);
    }
}

#[test]
fn all_arrives_from_us_to_pyzmq_that_sends_pings() {
    for transport in ["tcp", "ipc"] {
        check_from_us_to_pyzmq(transport, HEARTBEAT_MS);
    }
}

#[test]
fn all_arrives_from_pyzmq_to_us() {
    for transport in ["tcp", "ipc"] {
        check_from_pyzmq_to_us(transport, &Options::default());
        check_from_pyzmq_to_us(transport, &heartbeats());
    }
}
