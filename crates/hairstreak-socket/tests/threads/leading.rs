//! Several threads blocked in one engine: one leads, the others follow, whoever comes and goes.

use std::sync::Barrier;

use hairstreak_socket::{Bytes, Context, Message, Options, Pull, Push};
use hairstreak_testkit::until;

use crate::joined::joined;
use crate::soak::amount;
use crate::{LONG, TRANSPORTS};

fn pair(transport: &str, pushing: &Context, pulling: &Context) -> (Push, Pull) {
    let (pull, push) = joined(pulling, pushing, transport, &Options::default());
    (push, pull)
}

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
                (0..count).for_each(|n| until("room", || quick.try_send(&n.to_be_bytes())));
            });
            scope.spawn(|| (0..count).for_each(|n| push.send(&n.to_be_bytes()).unwrap()));
            for n in 0..count {
                let message = until("a message", || slow.try_recv());
                assert_eq!(message.body(), n.to_be_bytes());
            }
        });
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

/// Other threads have their turn before a message is read that takes several; then whoever drives the engine has to go on.
#[test]
fn a_message_that_takes_many_reads_arrives_though_another_thread_drives_the_engine() {
    const ROUND_COUNT: usize = 50;
    // Bytes that nothing else tells of: no heartbeat has the engine driven meanwhile.
    let options = Options { heartbeat_ms: 0, ..Options::default() };
    let message: Message = (0..150).map(|_| Bytes::from_vec(vec![7; 10_000])).collect();
    for transport in ["tcp", "ipc"] {
        let (near, far) = (Context::new(), Context::new());
        let (last, driver): (Push, Pull) = joined(&far, &near, transport, &options);
        let (sender, receiver): (Push, Pull) = joined(&far, &near, transport, &options);
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(driver.recv_timeout(LONG).unwrap().body(), b"over"));
            for _ in 0..ROUND_COUNT {
                scope.spawn(|| sender.send_timeout(&message, LONG).unwrap());
                assert_eq!(receiver.recv_timeout(LONG / 2).unwrap().frame_count(), message.frame_count());
            }
            last.send_timeout("over", LONG).unwrap();
            last.flush();
        });
    }
}
