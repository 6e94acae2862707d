//! One future that sends, one that receives: everything arrives, in order.

use std::thread;

use hairstreak_socket::{Context, Options, Pull, Push};

use crate::both::block_on_both;
use crate::executor::block_on;
use crate::pairs::{body, low_marks, number, pair, pair_in};
use crate::{LONG, TRANSPORTS};

const COUNT: u64 = 20_000;

async fn send(push: Push, count: u64) {
    for number in 0..count {
        push.send_async(&body(number)).await.unwrap();
    }
}

async fn receive(pull: &Pull, count: u64) {
    for expected in 0..count {
        assert_eq!(number(&pull.recv_async().await.unwrap()), expected);
    }
}

#[test]
fn futures_of_two_threads_exchange_everything_in_order() {
    for transport in TRANSPORTS {
        for options in [Options::default(), low_marks()] {
            let (push, pull) = pair(transport, &options);
            let sender = thread::spawn(|| block_on(send(push, COUNT)));
            block_on(receive(&pull, COUNT));
            sender.join().unwrap();
        }
    }
}

#[test]
fn futures_of_one_thread_and_one_engine_exchange_everything_in_order() {
    for transport in TRANSPORTS {
        let context = Context::new();
        let (push, pull) = pair_in(&context, &context, transport, &low_marks());
        block_on_both(send(push, COUNT / 4), receive(&pull, COUNT / 4));
    }
}

#[test]
fn a_future_receives_what_a_thread_sends_and_the_other_way_round() {
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport, &low_marks());
        let sender = thread::spawn(move || {
            (0..COUNT).for_each(|number| push.send_timeout(&body(number), LONG).unwrap());
        });
        block_on(receive(&pull, COUNT));
        sender.join().unwrap();

        let (push, pull) = pair(transport, &low_marks());
        let sender = thread::spawn(|| block_on(send(push, COUNT)));
        (0..COUNT).for_each(|expected| assert_eq!(number(&pull.recv_timeout(LONG).unwrap()), expected));
        sender.join().unwrap();
    }
}

#[test]
fn a_question_is_answered_again_and_again() {
    for transport in TRANSPORTS {
        let (ask, asked) = pair(transport, &Options::default());
        let (answer, answered) = pair(transport, &Options::default());
        let server = thread::spawn(move || {
            block_on(async {
                for _ in 0..2000 {
                    answer.send_async(&asked.recv_async().await.unwrap()).await.unwrap();
                }
            });
            answer
        });
        block_on(async {
            for number in 0..2000u64 {
                ask.send_async(&body(number)).await.unwrap();
                assert_eq!(answered.recv_async().await.unwrap().body(), body(number));
            }
        });
        server.join().unwrap();
    }
}
