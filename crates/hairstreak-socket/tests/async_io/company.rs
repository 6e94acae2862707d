//! Futures and blocked threads side by side, on one socket and in one engine.

use std::thread;
use std::time::Duration;

use hairstreak_socket::{Context, Message, Options, Pull, RecvError};

use crate::executor::block_on;
use crate::pairs::{body, low_marks, number, pair, pair_in};
use crate::{LONG, TRANSPORTS};

const COUNT: u64 = 20_000;
const END: &str = "the end";

/// The numbers that come until an END does.
fn numbers_until_end(mut receive: impl FnMut() -> Message) -> Vec<u64> {
    let mut numbers = Vec::new();
    loop {
        let message = receive();
        if message.body() == END.as_bytes() {
            return numbers;
        }
        numbers.push(number(&message));
    }
}

#[test]
fn a_thread_and_a_future_receive_from_one_socket() {
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport, &low_marks());
        let other = pull.clone();
        let by_thread = thread::spawn(move || numbers_until_end(|| other.recv_timeout(LONG).unwrap()));
        let by_future = thread::spawn(move || numbers_until_end(|| block_on(pull.recv_async()).unwrap()));
        (0..COUNT).for_each(|number| push.send_timeout(&body(number), LONG).unwrap());
        push.send_timeout(END, LONG).unwrap();
        push.send_timeout(END, LONG).unwrap();
        push.flush();
        let mut numbers = [by_thread.join().unwrap(), by_future.join().unwrap()].concat();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..COUNT), "{transport}");
    }
}

#[test]
fn a_thread_and_a_future_send_to_one_socket() {
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport, &low_marks());
        let other = push.clone();
        let by_thread = thread::spawn(move || {
            (0..COUNT).step_by(2).for_each(|number| other.send_timeout(&body(number), LONG).unwrap());
        });
        let by_future = thread::spawn(move || {
            let odd = (1..COUNT).step_by(2);
            odd.for_each(|number| block_on(push.send_async(&body(number))).unwrap());
        });
        let mut numbers: Vec<u64> = (0..COUNT).map(|_| number(&pull.recv_timeout(LONG).unwrap())).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..COUNT), "{transport}");
        by_thread.join().unwrap();
        by_future.join().unwrap();
    }
}

/// Blocks in `pull` in turns of `patience` until a message comes.
fn keep_receiving(pull: Pull, patience: Duration) -> Message {
    loop {
        match pull.recv_timeout(patience) {
            Err(RecvError::TimedOut) => {}
            message => return message.unwrap(),
        }
    }
}

#[test]
fn a_future_is_woken_while_a_thread_blocks_in_another_socket_of_the_engine() {
    // Long: the thread drives the engine all the while. Short: it comes and goes.
    for patience in [LONG, Duration::from_micros(300)] {
        for transport in TRANSPORTS {
            let (ours, theirs) = (Context::new(), Context::new());
            let (to_thread, of_thread) = pair_in(&theirs, &ours, transport, &Options::default());
            let (to_future, of_future) = pair_in(&theirs, &ours, transport, &Options::default());
            let blocked = thread::spawn(move || keep_receiving(of_thread, patience));
            let sender = thread::spawn(move || {
                (0..COUNT / 4).for_each(|number| {
                    to_future.send_timeout(&body(number), LONG).unwrap();
                    if number % 64 == 0 {
                        to_future.flush();
                        thread::yield_now();
                    }
                });
                to_future
            });
            for expected in 0..COUNT / 4 {
                assert_eq!(number(&block_on(of_future.recv_async()).unwrap()), expected, "{transport}");
            }
            sender.join().unwrap();
            to_thread.send_timeout(END, LONG).unwrap();
            to_thread.flush();
            assert_eq!(blocked.join().unwrap().body(), END.as_bytes());
        }
    }
}
