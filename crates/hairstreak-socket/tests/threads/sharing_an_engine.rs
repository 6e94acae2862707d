//! What sockets of one thread, and so of one engine, must not do to each other.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use hairstreak_socket::{Context, Options, Pull, Push};

use crate::joined::joined;
use crate::{LONG, TRANSPORTS};

/// Just over what makes a link idle: each of these sends writes by itself.
const TRICKLE: Duration = Duration::from_micros(65);
/// Many flush ticks' worth of them.
const TRICKLE_MAX: usize = 1000;
const ROUNDS: usize = 20;

#[test]
fn what_gathers_is_written_although_another_link_keeps_writing_by_itself() {
    for transport in TRANSPORTS {
        let (context, other) = (Context::new(), Context::new());
        let joined_here = || -> (Push, Pull) { joined(&context, &other, transport, &Options::default()) };
        let ((quiet, quiet_end), (busy, busy_end)) = (joined_here(), joined_here());
        let received = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&received);
        let receiver = thread::spawn(move || {
            for _ in 0..ROUNDS * 3 {
                quiet_end.recv().unwrap();
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        let drain = thread::spawn(move || while busy_end.recv().unwrap().body() != b"end" {});
        for round in 1..=ROUNDS {
            (0..3).for_each(|_| quiet.send("gathers").unwrap());
            let mut trickled = 0;
            while received.load(Ordering::Relaxed) < round * 3 {
                assert!(trickled < TRICKLE_MAX, "{transport}: {received:?} in round {round}");
                busy.send("x").unwrap();
                trickled += 1;
                let sent = Instant::now();
                while sent.elapsed() < TRICKLE {
                    std::hint::spin_loop();
                }
            }
        }
        busy.send("end").unwrap();
        busy.flush();
        drain.join().unwrap();
        receiver.join().unwrap();
    }
}

#[test]
fn an_iterator_of_messages_may_use_the_sockets_beside_it() {
    for transport in TRANSPORTS {
        let (done, finished) = mpsc::channel();
        thread::spawn(move || {
            let context = Context::new();
            let (push, pull): (Push, Pull) = joined(&context, &context, transport, &Options::default());
            let mut left = [[1u8], [2], [3]].iter();
            let sent = push.send_all(iter::from_fn(|| {
                assert_eq!(pull.peers().len(), 1);
                left.next()
            }));
            done.send(sent).unwrap();
        });
        assert_eq!(finished.recv_timeout(LONG).expect("no deadlock"), Ok(3), "{transport}");
    }
}
