//! Futures that are dropped before they are ready, at random: a receive takes nothing then, a send
//! sends nothing. The output of the test names the seed.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use hairstreak_testkit::{Rng, rng};

use crate::TRANSPORTS;
use crate::executor::{Alarm, poll_with};
use crate::pairs::{body, low_marks, number, pair};
use crate::soak::amount;
use crate::tasks::runtime;

/// Polls the future a few times, waiting in between or not, then drops it: its output if it had one.
fn try_for_a_while<F: Future>(random: &mut Rng, alarm: &Arc<Alarm>, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..random.u8(1..4) {
        if let Poll::Ready(output) = poll_with(alarm, future.as_mut()) {
            return Some(output);
        }
        if random.bool() {
            alarm.wait();
        }
    }
    None
}

#[test]
fn a_dropped_future_has_taken_and_sent_nothing() {
    let count = amount(20_000, 1_000_000) as u64;
    let mut random = rng();
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport, &low_marks());
        let mut others = random.fork();
        let sender = thread::spawn(move || {
            let alarm = Alarm::new();
            for number in 0..count {
                let body = body(number);
                while try_for_a_while(&mut others, &alarm, push.send_async(&body)).is_none() {}
            }
        });
        let alarm = Alarm::new();
        for expected in 0..count {
            let message = loop {
                if let Some(message) = try_for_a_while(&mut random, &alarm, pull.recv_async()) {
                    break message.unwrap();
                }
            };
            assert_eq!(number(&message), expected, "{transport}");
        }
        sender.join().unwrap();
    }
}

#[test]
fn a_future_that_tokio_gives_up_has_taken_and_sent_nothing() {
    let count = amount(2000, 100_000) as u64;
    let mut random = rng();
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport, &low_marks());
        let mut others = random.fork();
        let sender = async move {
            for number in 0..count {
                let body = body(number);
                let patience = Duration::from_micros(others.u64(..100));
                while tokio::time::timeout(patience, push.send_async(&body)).await.is_err() {}
            }
        };
        runtime().block_on(async {
            let sender = tokio::spawn(sender);
            for expected in 0..count {
                let patience = Duration::from_micros(random.u64(..100));
                let message = loop {
                    if let Ok(message) = tokio::time::timeout(patience, pull.recv_async()).await {
                        break message.unwrap();
                    }
                };
                assert_eq!(number(&message), expected, "{transport}");
            }
            sender.await.unwrap();
        });
    }
}
