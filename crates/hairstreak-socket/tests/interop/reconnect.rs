//! A side that goes and comes back at the same place is found again by the other.

use hairstreak_socket::{Context, Pattern, Pull, Push, Socket};
use hairstreak_testkit::until_eq;

use crate::LONG;
use crate::endpoints::endpoint;
use crate::script::Script;
use crate::stream::{Stream, Tally};

const COUNT: usize = 200;
const RESTARTS: usize = 3;

fn wait_until_alone<P: Pattern>(socket: &Socket<P>) {
    until_eq("peers", 0, || socket.peers().len());
}

#[test]
fn a_push_finds_a_pull_that_was_killed_and_started_again() {
    for transport in ["tcp", "ipc"] {
        let push = Push::new(&Context::new()).unwrap();
        let mut place = endpoint(transport);
        for round in 0..RESTARTS {
            let mut pull = Script::python("pipeline.py", ["pull", "bind", &place, &COUNT.to_string()]);
            place = pull.hear("bound");
            if round == 0 {
                push.connect(&place).unwrap();
            }
            let (mut stream, mut tally) = (Stream::new(round as u64), Tally::default());
            for _ in 0..COUNT {
                let frames = stream.draw();
                push.send_timeout(&frames[..], LONG).unwrap();
                tally.add(frames.iter().copied());
            }
            assert_eq!(pull.hear("tally"), tally.text(), "{transport}, round {round}");
            drop(pull);
            wait_until_alone(&push);
        }
    }
}

#[test]
fn a_pull_finds_a_push_that_was_killed_and_started_again() {
    for transport in ["tcp", "ipc"] {
        let pull = Pull::new(&Context::new()).unwrap();
        let mut place = endpoint(transport);
        for round in 0..RESTARTS {
            let mut push = Script::python("say.py", ["bind", &place]);
            place = push.hear("bound");
            if round == 0 {
                pull.connect(&place).unwrap();
            }
            for number in 0..COUNT {
                push.say(&number.to_string());
                assert_eq!(pull.recv_timeout(LONG).unwrap().body(), number.to_string().as_bytes());
            }
            drop(push);
            wait_until_alone(&pull);
        }
    }
}

#[test]
fn pyzmq_finds_a_pull_that_was_closed_and_opened_again() {
    for transport in ["tcp", "ipc"] {
        let mut pull = Pull::new(&Context::new()).unwrap();
        let place = pull.bind(&endpoint(transport)).unwrap().to_string();
        let mut push = Script::python("say.py", ["connect", &place]);
        for round in 0..RESTARTS {
            assert!(pull.wait_for_peers(1, LONG));
            push.say(&round.to_string());
            assert_eq!(pull.recv_timeout(LONG).unwrap().body(), round.to_string().as_bytes());
            pull.close();
            pull = Pull::new(&Context::new()).unwrap();
            pull.bind(&place).unwrap();
        }
    }
}
