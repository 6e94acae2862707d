//! Closing a socket in which others wait: they are told, and nobody else is.

use std::thread;

use hairstreak_socket::{Context, Options, Pull, Push, RecvError, SendError};

use crate::joined::{joined, pull_of};
use crate::{LONG, TRANSPORTS};

const ROUNDS: usize = 30;

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
    let options = Options { send_count_max: 4, send_count_low: 2, ..Options::default() };
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
            while push.stats().queued_count <= options.send_count_low {
                thread::yield_now();
            }
            push.close();
            for thread in told {
                assert_eq!(thread.join().unwrap(), SendError::Closed, "{transport}");
            }
        }
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
        assert_eq!(closed_push.send_all(["x"]), Err(SendError::Closed));
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
