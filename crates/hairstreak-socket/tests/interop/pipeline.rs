//! PUSH and PULL: what one side sends is what the other receives, byte for byte and frame for frame.

use std::time::Instant;

use hairstreak_socket::{Context, Message, Pull, Push};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::script::Script;
use crate::soak::amount;
use crate::stream::{Stream, Tally};

const SEED: u64 = 0x4a17_57e4;

fn count() -> usize {
    amount(20_000, 1_000_000)
}

fn report(cell: &str, tally: &Tally, since: Instant) {
    println!("{cell}: {}, {:.1} s", tally.text(), since.elapsed().as_secs_f64());
}

/// pyzmq PUSH -> our PULL, each binding in turn.
fn check_from_pyzmq(transport: &str) {
    for they_bind in [true, false] {
        let since = Instant::now();
        let pull = Pull::new(&Context::new()).unwrap();
        let join = if they_bind { "bind" } else { "connect" };
        let place = if they_bind {
            endpoint(transport)
        } else {
            pull.bind(&endpoint(transport)).unwrap().to_string()
        };
        let mut push =
            Script::python("pipeline.py", ["push", join, &place, &count().to_string(), &SEED.to_string()]);
        if they_bind {
            pull.connect(&push.hear("bound")).unwrap();
        }
        let mut tally = Tally::default();
        for number in 0..count() {
            let message =
                pull.recv_timeout(LONG).unwrap_or_else(|e| panic!("{place}: message {number}: {e}"));
            tally.add_message(&message);
        }
        report(&format!("pyzmq PUSH ({join}) -> PULL, {transport}"), &tally, since);
        assert_eq!(tally.text(), push.hear("tally"), "{place}");
        push.finish();
    }
}

/// Our PUSH -> pyzmq PULL, each binding in turn; all forms of a message are sent.
fn check_to_pyzmq(transport: &str) {
    for they_bind in [true, false] {
        let since = Instant::now();
        let push = Push::new(&Context::new()).unwrap();
        let join = if they_bind { "bind" } else { "connect" };
        let place = if they_bind {
            endpoint(transport)
        } else {
            push.bind(&endpoint(transport)).unwrap().to_string()
        };
        let mut pull = Script::python("pipeline.py", ["pull", join, &place, &count().to_string()]);
        if they_bind {
            push.connect(&pull.hear("bound")).unwrap();
        }
        let (mut stream, mut tally) = (Stream::new(SEED), Tally::default());
        for number in 0..count() {
            let frames = stream.draw();
            let sent = match (number % 2, &frames[..]) {
                (0, [body]) => push.send_timeout(*body, LONG),
                (0, frames) => push.send_timeout(frames, LONG),
                _ => push.send_timeout(&Message::from_frames(&frames), LONG),
            };
            sent.unwrap_or_else(|e| panic!("{place}: message {number}: {e}"));
            tally.add(frames.iter().copied());
        }
        push.close();
        assert_eq!(pull.hear("tally"), tally.text(), "{place}");
        report(&format!("PUSH -> pyzmq PULL ({join}), {transport}"), &tally, since);
        pull.finish();
    }
}

#[test]
fn what_pyzmq_pushes_over_tcp_is_pulled() {
    check_from_pyzmq("tcp");
}

#[test]
fn what_pyzmq_pushes_over_ipc_is_pulled() {
    check_from_pyzmq("ipc");
}

#[test]
fn what_is_pushed_over_tcp_is_pulled_by_pyzmq() {
    check_to_pyzmq("tcp");
}

#[test]
fn what_is_pushed_over_ipc_is_pulled_by_pyzmq() {
    check_to_pyzmq("ipc");
}
