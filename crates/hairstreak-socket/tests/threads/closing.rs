//! Sockets closed and dropped by other threads than those that use them.

use std::sync::mpsc::channel;
use std::time::Duration;

use hairstreak_socket::{Context, Message, Pull, Push, RecvError, SendError};

use crate::endpoints::endpoint;
use crate::soak::amount;
use crate::{LONG, TRANSPORTS, low_marks, pair, pair_with};

/// Time for threads to block, which is what gives these tests their point and not their result.
const MOMENT: Duration = Duration::from_millis(10);

#[test]
fn closing_ends_all_that_are_blocked_in_the_socket_and_nobody_else() {
    for transport in TRANSPORTS {
        let (one, other) = (Context::new(), Context::new());
        let (push, pull) = pair(transport, &other, &one);
        let (_quiet, closed) = pair(transport, &other, &one);
        std::thread::scope(|scope| {
            let stays = scope.spawn(|| pull.recv_timeout(LONG));
            let blocked: Vec<_> = (0..3)
                .map(|_| {
                    let closed = closed.clone();
                    scope.spawn(move || closed.recv())
                })
                .collect();
            let (_never, moment) = channel::<()>();
            let _ = moment.recv_timeout(MOMENT);
            closed.clone().close();
            for thread in blocked {
                assert_eq!(thread.join().unwrap(), Err(RecvError::Closed), "{transport}");
            }
            push.send("still here").unwrap();
            push.flush();
            assert_eq!(stays.join().unwrap().expect(transport).body(), b"still here");
        });
        assert_eq!(closed.recv(), Err(RecvError::Closed));
        assert_eq!(closed.try_recv(), Err(RecvError::Closed));
    }
}

#[test]
fn closing_ends_senders_that_wait_for_room_or_for_a_peer() {
    for transport in TRANSPORTS {
        for with_peer in [true, false] {
            let push = Push::with_options(&Context::new(), low_marks()).unwrap();
            let bound = push.bind(&endpoint(transport)).unwrap().to_string();
            let pull = Pull::with_options(&Context::new(), low_marks()).unwrap();
            if with_peer {
                pull.connect(&bound).unwrap();
                assert!(push.wait_for_peers(1, LONG));
                while push.send_timeout(&[0; 100_000], MOMENT).is_ok() {}
            }
            let blocked: Vec<_> = (0..2)
                .map(|_| {
                    let push = push.clone();
                    std::thread::spawn(move || push.send(&[0; 100_000]))
                })
                .collect();
            push.clone().close();
            for thread in blocked {
                // A little room may have come before the end.
                let result = thread.join().unwrap();
                assert!(matches!(result, Err(SendError::Closed)) || with_peer, "{transport}: {result:?}");
            }
            assert_eq!(push.send("late"), Err(SendError::Closed), "{transport}");
        }
    }
}

#[test]
fn what_was_sent_arrives_though_the_handle_is_dropped_in_another_thread() {
    for transport in TRANSPORTS {
        let pull = Pull::new(&Context::new()).unwrap();
        let bound = pull.bind(&endpoint(transport)).unwrap().to_string();
        let rounds = amount(50, 5_000) as u32;
        let (give, take) = channel::<Push>();
        let dropper = std::thread::spawn(move || take.into_iter().for_each(drop));
        for round in 0..rounds {
            let push = Push::new(&Context::new()).unwrap();
            push.connect(&bound).unwrap();
            for number in 0..10u32 {
                push.send_timeout(&[round, number].map(u32::to_be_bytes).concat(), LONG).unwrap();
            }
            give.send(push).unwrap();
        }
        drop(give);
        let mut next = vec![0; rounds as usize];
        for _ in 0..10 * rounds {
            let message: Message = pull.recv_timeout(LONG).expect(transport);
            let (round, number) = message.body().split_at(4);
            let next: &mut u32 = &mut next[u32::from_be_bytes(round.try_into().unwrap()) as usize];
            assert_eq!(number, next.to_be_bytes(), "{transport}");
            *next += 1;
        }
        dropper.join().unwrap();
    }
}

#[test]
fn a_socket_stays_open_until_its_last_clone_is_dropped() {
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport, &Context::new(), &Context::new());
        let clones: Vec<Push> = (0..8).map(|_| push.clone()).collect();
        drop(push);
        let threads: Vec<_> = clones
            .into_iter()
            .map(|push| std::thread::spawn(move || push.send_timeout("from a clone", LONG).unwrap()))
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        (0..8).for_each(|_| assert_eq!(pull.recv_timeout(LONG).expect(transport).body(), b"from a clone"));
    }
}

#[test]
fn peers_that_come_and_go_lose_only_what_they_took() {
    for transport in TRANSPORTS {
        let (push, pull) = pair_with(transport, &Context::new(), &Context::new(), &low_marks());
        let name = push.peers().first().map(|peer| peer.endpoint.clone());
        let name = name.unwrap_or_else(|| {
            assert!(push.wait_for_peers(1, LONG));
            push.peers()[0].endpoint.clone()
        });
        let count = amount(20_000, 200_000) as u64;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..count).for_each(|n| {
                    assert_eq!(pull.recv_timeout(LONG).expect(transport).body(), n.to_be_bytes())
                });
            });
            // Connections that are made and broken beside the one that works.
            scope.spawn(|| {
                for _ in 0..amount(100, 10_000) {
                    let passing = Push::new(&Context::new()).unwrap();
                    passing.connect(&name).unwrap();
                    passing.wait_for_peers(1, MOMENT);
                }
            });
            (0..count).for_each(|n| push.send_timeout(&n.to_be_bytes(), LONG).unwrap());
        });
        assert_eq!(pull.stats().received, count, "{transport}");
    }
}
