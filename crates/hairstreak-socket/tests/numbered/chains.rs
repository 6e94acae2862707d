//! A chain of stages in threads: PUSH -> PULL/PUSH -> PULL, its middle in several copies.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hairstreak_socket::{Context, Pull, Push, RecvError};

use crate::endpoints::endpoint;
use crate::numbers::{Numbers, Order, numbered};
use crate::soak::amount;
use crate::{LONG, TRANSPORTS};

/// How often a stage that has nothing to do looks whether all is done.
const TICK: Duration = Duration::from_millis(20);

/// Sends `count` messages through `copies` of the middle stage.
fn check_chain(transport: &str, copies: usize, count: u64) {
    let source = Push::new(&Context::new()).unwrap();
    let first = source.bind(&endpoint(transport)).unwrap().to_string();
    let sink = Pull::new(&Context::new()).unwrap();
    let second = sink.bind(&endpoint(transport)).unwrap().to_string();
    let (numbers, passed) = (Numbers::new(1, count), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..copies {
            scope.spawn(|| {
                // One engine for both ends of the stage.
                let context = Context::new();
                let (pull, push) = (Pull::new(&context).unwrap(), Push::new(&context).unwrap());
                pull.connect(&first).unwrap();
                push.connect(&second).unwrap();
                while passed.load(Ordering::SeqCst) < count {
                    match pull.recv_timeout(TICK) {
                        Ok(message) => {
                            push.send_timeout(&message, LONG).unwrap();
                            passed.fetch_add(1, Ordering::SeqCst);
                        }
                        Err(error) => assert_eq!(error, RecvError::TimedOut, "{transport}"),
                    }
                }
            });
        }
        scope.spawn(|| {
            assert!(source.wait_for_peers(copies, LONG));
            (0..count).for_each(|number| source.send(&numbered(0, number)).unwrap());
            source.flush();
        });
        let mut order = Order::default();
        for _ in 0..count {
            let message = sink.recv_timeout(LONG).expect(transport);
            numbers.note(&message);
            if copies == 1 {
                order.check(&message);
            }
        }
    });
    numbers.check_complete(transport);
    assert_eq!(sink.stats().received, count);
}

#[test]
fn a_chain_keeps_order_and_loses_nothing() {
    for transport in TRANSPORTS {
        check_chain(transport, 1, amount(200_000, 5_000_000) as u64);
    }
}

#[test]
fn a_chain_with_copies_of_its_middle_loses_nothing() {
    for transport in TRANSPORTS {
        check_chain(transport, 3, amount(200_000, 5_000_000) as u64);
    }
}
