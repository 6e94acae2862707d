//! Closing a socket in which others wait: they are told, and nobody else is.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use hairstreak_socket::{Context, Options, Pull, Push, RecvError, SendError};
use hairstreak_testkit::until_at_least;

use crate::endpoints::endpoint;
use crate::joined::{joined, pull_of};
use crate::{LONG, TRANSPORTS};

const ROUNDS: usize = 30;
/// Long enough for buffers to move on, if they can.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until the others have had every chance to be where they block.
fn give_way() {
    (0..20).for_each(|_| thread::yield_now());
}

#[test]
fn receivers_of_a_closed_socket_are_told_and_others_of_its_engine_stay() {
    for transport in TRANSPORTS {
        for round in 0..ROUNDS {
            let context = Context::new();
            let (closing, _push) = pull_of(&context, transport);
            let (staying, to_staying) = pull_of(&context, transport);
            let told: Vec<_> = (0..3)
                .map(|_| {
                    let pull = closing.clone();
                    thread::spawn(move || if round % 2 == 0 { pull.recv() } else { pull.recv_timeout(LONG) })
                })
                .collect();
            let stays = thread::spawn(move || staying.recv_timeout(LONG));
            give_way();
            closing.close();
            for thread in told {
                assert_eq!(thread.join().unwrap(), Err(RecvError::Closed), "{transport}");
            }
            to_staying.send_timeout("still here?", LONG).unwrap();
            to_staying.flush();
            assert_eq!(stays.join().unwrap().unwrap().body(), b"still here?");
        }
    }
}

#[test]
fn senders_of_a_closed_socket_are_told() {
    let options = Options { send_count_max: 4, ..Options::default() };
    for transport in TRANSPORTS {
        for _ in 0..ROUNDS {
            let (_pull, push): (Pull, Push) = joined(&Context::new(), &Context::new(), transport, &options);
            let told: Vec<_> = (0..3)
                .map(|_| {
                    let push = push.clone();
                    thread::spawn(move || {
                        loop {
                            if let Err(error) = push.send(&vec![1; 100_000]) {
                                return error;
                            }
                        }
                    })
                })
                .collect();
            until_at_least("queued messages", options.send_count_max / 2 + 1, || push.stats().queued_count);
            push.close();
            for thread in told {
                assert_eq!(thread.join().unwrap(), SendError::Closed, "{transport}");
            }
        }
    }
}

#[test]
fn what_was_accepted_arrives_however_the_socket_leaves_its_endpoint_before_it_closes() {
    type Leave = fn(&Push, &str);
    let ways: [(&str, Leave); 3] = [
        ("disconnect", |push, place| assert!(push.disconnect(place))),
        ("disconnect, connect, disconnect", |push, place| {
            assert!(push.disconnect(place));
            push.connect(place).unwrap();
            assert!(push.disconnect(place));
        }),
        ("close twice", |push, _| push.clone().close()),
    ];
    for transport in TRANSPORTS {
        for (name, leave) in ways {
            for closes in [true, false] {
                let pull = Pull::new(&Context::new()).unwrap();
                let place = pull.bind(&endpoint(transport)).unwrap().to_string();
                let push = Push::new(&Context::new()).unwrap();
                push.connect(&place).unwrap();
                assert!(push.wait_for_peers(1, LONG));
                let count = fill(&push);
                leave(&push, &place);
                if closes {
                    push.close()
                } else {
                    drop(push)
                }
                receive(&pull, count, &format!("{transport}, {name}, {closes}"));
            }
        }
    }
}

#[test]
fn what_was_accepted_arrives_though_the_socket_unbinds_before_it_closes() {
    for transport in TRANSPORTS {
        let push = Push::new(&Context::new()).unwrap();
        let place = push.bind(&endpoint(transport)).unwrap();
        let pull = Pull::new(&Context::new()).unwrap();
        pull.connect(&place.to_string()).unwrap();
        assert!(push.wait_for_peers(1, LONG));
        let count = fill(&push);
        assert!(push.unbind(&place));
        push.close();
        receive(&pull, count, &format!("{transport}, unbind"));
    }
}

/// Sends until every buffer on the way is full, and nearly so the socket's own. Returns how many.
fn fill(push: &Push) -> usize {
    let body = vec![1; 10_000];
    let mut count = 0;
    while push.send_timeout(&body, PAUSE).is_ok() {
        count += 1;
    }
    count
}

fn receive(pull: &Pull, count: usize, after: &str) {
    for number in 0..count {
        let message = pull.recv_timeout(LONG);
        let message = message.unwrap_or_else(|error| panic!("{after}: message {number} of {count}: {error}"));
        assert_eq!(message.size(), 10_000);
    }
}

#[test]
fn a_closed_socket_refuses_everything() {
    for transport in TRANSPORTS {
        let (pull, push) = pull_of(&Context::new(), transport);
        let (closed_pull, closed_push) = (pull.clone(), push.clone());
        pull.close();
        push.close();
        assert_eq!(closed_pull.recv(), Err(RecvError::Closed));
        assert_eq!(closed_pull.try_recv(), Err(RecvError::Closed));
        assert_eq!(closed_pull.recv_timeout(LONG), Err(RecvError::Closed));
        assert_eq!(closed_pull.recv_many(&mut Vec::new(), 10), Err(RecvError::Closed));
        assert_eq!(closed_push.send("x"), Err(SendError::Closed));
        assert_eq!(closed_push.try_send("x"), Err(SendError::Closed));
        assert_eq!(closed_push.send_timeout("x", LONG), Err(SendError::Closed));
        assert_eq!(closed_push.send_all(["x"]).map_err(|error| error.source), Err(SendError::Closed));
        assert!(closed_push.bind("tcp://127.0.0.1:*").is_err());
        assert!(closed_push.connect("tcp://127.0.0.1:1").is_err());
        assert!(closed_push.peers().is_empty());
        assert!(!closed_push.wait_for_peers(1, LONG), "there will be none");
        closed_push.flush();
        closed_push.close();
    }
}

#[test]
fn waiting_for_peers_ends_when_the_socket_is_closed() {
    for _ in 0..ROUNDS {
        let pull = Pull::new(&Context::new()).unwrap();
        let waiting = pull.clone();
        let waits = thread::spawn(move || waiting.wait_for_peers(1, LONG));
        give_way();
        pull.close();
        assert!(!waits.join().unwrap());
    }
}

#[test]
fn a_name_may_be_bound_while_a_socket_of_the_wrong_type_that_waited_for_it_is_dropped() {
    let (giver, taker) = mpsc::sync_channel::<(Pull, u32)>(0);
    let dropping = thread::spawn(move || {
        for (waiting, pauses) in taker {
            (0..pauses).for_each(|_| std::hint::spin_loop());
            drop(waiting);
        }
    });
    for round in 0..3000 {
        let place = endpoint("inproc");
        // In an engine of its own.
        let (waiting, to) = (Pull::new(&Context::new()).unwrap(), Pull::new(&Context::new()).unwrap());
        waiting.connect(&place).unwrap();
        giver.send((waiting, round % 16 * 20)).unwrap();
        (0..round / 16 % 16 * 20).for_each(|_| std::hint::spin_loop());
        to.bind(&place).unwrap();
    }
    drop(giver);
    dropping.join().unwrap();
}
