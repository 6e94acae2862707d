//! Several threads blocked in sockets of one engine: one of them drives it for all, and hands over when
//! it leaves.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use hairstreak_socket::{Context, RecvError};
use hairstreak_testkit::until;

use crate::joined::pull_of;
use crate::soak::amount;
use crate::{LONG, TRANSPORTS};

const THREADS: usize = 4;
const END: &[u8] = b"the end";

/// One of `THREADS` threads at a time gets a message and leaves its call; the others stay blocked. Each
/// calls again at once, or not before the next round.
fn check(transport: &str, patience: Duration) {
    let context = Context::new();
    let (arrived, arrivals) = mpsc::channel();
    let mut pushes = Vec::new();
    let mut threads = Vec::new();
    for number in 0..THREADS {
        let (pull, push) = pull_of(&context, transport);
        pushes.push(push);
        let arrived = arrived.clone();
        threads.push(thread::spawn(move || {
            loop {
                match pull.recv_timeout(patience) {
                    Ok(message) if message.body() == END => return,
                    Ok(message) => arrived.send((number, message.body().to_vec())).unwrap(),
                    Err(error) => {
                        assert!(error == RecvError::TimedOut && patience < LONG, "{number}: {error}")
                    }
                }
            }
        }));
    }
    let mut random = Rng::with_seed(1);
    for round in 0..amount(1000, 100_000) {
        let chosen = random.usize(..THREADS);
        let body = round.to_le_bytes().to_vec();
        pushes[chosen].send_timeout(&body, LONG).unwrap();
        pushes[chosen].flush();
        assert_eq!(arrivals.recv_timeout(LONG), Ok((chosen, body)), "{transport}, round {round}");
    }
    for push in &pushes {
        push.send_timeout(END, LONG).unwrap();
        push.flush();
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn whoever_drives_the_engine_hands_over_when_its_message_comes() {
    TRANSPORTS.iter().for_each(|transport| check(transport, LONG));
}

#[test]
fn whoever_drives_the_engine_hands_over_when_its_time_is_up() {
    TRANSPORTS.iter().for_each(|transport| check(transport, Duration::from_micros(200)));
}

#[test]
fn a_thread_that_polls_drives_nobody_else_out() {
    for transport in TRANSPORTS {
        let context = Context::new();
        let (polled, to_polled) = pull_of(&context, transport);
        let (blocked, to_blocked) = pull_of(&context, transport);
        let rounds = amount(500, 50_000) as u64;
        let polling = thread::spawn(move || {
            for expected in 0..rounds {
                let message = until("a message", || polled.try_recv());
                assert_eq!(message.body(), expected.to_le_bytes());
                to_blocked.send_timeout(&expected.to_le_bytes(), LONG).unwrap();
                to_blocked.flush();
            }
        });
        for number in 0..rounds {
            to_polled.send_timeout(&number.to_le_bytes(), LONG).unwrap();
            to_polled.flush();
            assert_eq!(blocked.recv_timeout(LONG).unwrap().body(), number.to_le_bytes(), "{transport}");
        }
        polling.join().unwrap();
    }
}
