//! Several threads blocked in one engine: one leads, the others follow, whoever comes and goes.

use std::sync::Barrier;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use hairstreak_socket::{Context, Pull, RecvError};

use crate::soak::amount;
use crate::{LONG, TRANSPORTS, pair};

/// Time for threads to block, which is what gives these tests their point and not their result.
const MOMENT: Duration = Duration::from_millis(20);

#[test]
fn threads_blocked_on_sockets_of_one_engine_each_get_their_own() {
    for transport in TRANSPORTS {
        let (one, other) = (Context::new(), Context::new());
        let pairs: Vec<_> = (0..6).map(|_| pair(transport, &other, &one)).collect();
        let (pushes, pulls): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let count = amount(2_000, 20_000) as u64;
        std::thread::scope(|scope| {
            for (socket, pull) in pulls.into_iter().enumerate() {
                scope.spawn(move || {
                    for number in 0..count {
                        let message = pull.recv_timeout(LONG).expect(transport);
                        assert_eq!(message.body(), [socket as u64, number].map(u64::to_be_bytes).concat());
                    }
                    // The leader leaves while others still wait.
                });
            }
            // Socket by socket at first, then round and round.
            for (socket, push) in pushes.iter().enumerate() {
                for number in 0..count / 2 {
                    push.send(&[socket as u64, number].map(u64::to_be_bytes).concat()).unwrap();
                }
            }
            for number in count / 2..count {
                for (socket, push) in pushes.iter().enumerate() {
                    push.send(&[socket as u64, number].map(u64::to_be_bytes).concat()).unwrap();
                    push.flush();
                }
            }
        });
    }
}

#[test]
fn the_lead_is_handed_on_when_the_leader_has_its_message() {
    for transport in TRANSPORTS {
        let (one, other) = (Context::new(), Context::new());
        let pairs: Vec<_> = (0..4).map(|_| pair(transport, &other, &one)).collect();
        let (pushes, pulls): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let (done, ended) = channel();
        // Each thread gets one message and goes, in the order of blocking and in the opposite one.
        for backwards in [false, true] {
            std::thread::scope(|scope| {
                let mut order: Vec<usize> = (0..pulls.len()).collect();
                for (index, pull) in pulls.iter().enumerate() {
                    let done = done.clone();
                    scope.spawn(move || {
                        assert_eq!(pull.recv_timeout(LONG).expect(transport).body(), [index as u8]);
                        done.send(index).unwrap();
                    });
                    // Whoever comes first leads; which one does not matter to the result.
                    let _ = ended.recv_timeout(MOMENT);
                }
                if backwards {
                    order.reverse();
                }
                for index in order {
                    pushes[index].send(&[index as u8]).unwrap();
                    pushes[index].flush();
                    assert_eq!(ended.recv_timeout(LONG), Ok(index), "{transport}");
                }
            });
        }
    }
}

#[test]
fn time_outs_are_kept_while_another_thread_leads() {
    for transport in TRANSPORTS {
        let (one, other) = (Context::new(), Context::new());
        let (push, pull) = pair(transport, &other, &one);
        let (_quiet, idle) = pair(transport, &other, &one);
        std::thread::scope(|scope| {
            // It leads or follows until the others have had their time-outs.
            let leader = scope.spawn(|| pull.recv_timeout(LONG));
            let waiters: Vec<_> = (1..5)
                .map(|n| {
                    let idle = &idle;
                    scope.spawn(move || {
                        for _ in 0..3 {
                            let (timeout, since) = (n * MOMENT, Instant::now());
                            assert_eq!(idle.recv_timeout(timeout), Err(RecvError::TimedOut));
                            assert!(since.elapsed() >= timeout);
                        }
                    })
                })
                .collect();
            waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
            push.send("now").unwrap();
            push.flush();
            assert_eq!(leader.join().unwrap().expect(transport).body(), b"now");
        });
    }
}

#[test]
fn calls_that_never_wait_pass_between_those_that_do() {
    for transport in TRANSPORTS {
        let (one, other) = (Context::new(), Context::new());
        let (push, pull) = pair(transport, &other, &one);
        let (quick, slow) = pair(transport, &one, &other);
        let count = amount(20_000, 300_000) as u64;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..count).for_each(|n| {
                    assert_eq!(pull.recv_timeout(LONG).expect(transport).body(), n.to_be_bytes());
                });
            });
            scope.spawn(|| {
                (0..count).for_each(|n| {
                    while quick.try_send(&n.to_be_bytes()).is_err() {
                        std::thread::yield_now();
                    }
                });
            });
            scope.spawn(|| (0..count).for_each(|n| push.send(&n.to_be_bytes()).unwrap()));
            for n in 0..count {
                let message = loop {
                    match slow.try_recv() {
                        Ok(message) => break message,
                        Err(RecvError::WouldBlock) => std::thread::yield_now(),
                        Err(error) => panic!("{transport}: {error}"),
                    }
                };
                assert_eq!(message.body(), n.to_be_bytes());
            }
        });
    }
}

#[test]
fn a_socket_opened_by_one_thread_works_in_another_when_the_first_is_gone() {
    for transport in TRANSPORTS {
        let (push, pull) =
            std::thread::spawn(move || pair(transport, &Context::new(), &Context::new())).join().unwrap();
        let sender = std::thread::spawn(move || (0..100u8).for_each(|n| push.send(&[n]).unwrap()));
        let receiver = std::thread::spawn(move || {
            (0..100u8).for_each(|n| assert_eq!(pull.recv_timeout(LONG).expect(transport).body(), [n]));
        });
        sender.join().unwrap();
        receiver.join().unwrap();
    }
}

#[test]
fn threads_that_start_together_all_get_through() {
    let context = Context::new();
    let (push, pull) = pair("tcp", &context, &context);
    let (count, barrier) = (amount(500, 5_000), Barrier::new(8));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (push, pull, barrier): (_, &Pull, _) = (&push, &pull, &barrier);
            scope.spawn(move || {
                for _ in 0..count {
                    barrier.wait();
                    if thread % 2 == 0 {
                        push.send_timeout("x", LONG).unwrap();
                    } else {
                        pull.recv_timeout(LONG).unwrap();
                    }
                }
            });
        }
    });
    assert_eq!((push.stats().sent, pull.stats().received), (4 * count as u64, 4 * count as u64));
}
