//! Threads that share sockets, in every form of call: exact counts, none twice, order per sender.

use std::time::Duration;

use hairstreak_socket::{Context, Message, Options, Pull, Push, RecvError};
use hairstreak_testkit::until;

use crate::numbers::{Numbers, Order, numbered};
use crate::soak::amount;
use crate::{LONG, TRANSPORTS, low_marks, pair, pair_with};

/// The sender that says: no more.
const END: u64 = u64::MAX;

/// Sends `count` numbered messages, every form of send in its turn.
fn send_mixed(push: &Push, sender: u64, count: u64) {
    let mut number = 0;
    while number < count {
        match number % 5 {
            0 => push.send(&numbered(sender, number)).unwrap(),
            1 => push.send_timeout(&numbered(sender, number), LONG).unwrap(),
            2 => until("room", || push.try_send(&numbered(sender, number))),
            3 => push
                .send(&Message::from_frames([b"head".to_vec(), numbered(sender, number).to_vec()]))
                .unwrap(),
            _ => {
                let batch: Vec<_> = (number..count.min(number + 26)).map(|n| numbered(sender, n)).collect();
                assert_eq!(push.send_all(&batch).unwrap(), batch.len());
                number += batch.len() as u64 - 1;
            }
        }
        number += 1;
    }
}

/// Receives until the end, every form of receive in its turn; notes what came.
fn receive_mixed(pull: &Pull, numbers: &Numbers, ordered: bool) {
    let (mut order, mut batch) = (Order::default(), Vec::new());
    for turn in 0.. {
        batch.clear();
        match turn % 4 {
            0 => batch.push(pull.recv().unwrap()),
            1 => batch.extend(pull.recv_timeout(Duration::from_millis(1))),
            2 => batch.extend(pull.try_recv()),
            _ => assert!(pull.recv_many(&mut batch, 1).unwrap() == 1),
        }
        for message in &batch {
            if message.body() == numbered(END, END) {
                return;
            }
            numbers.note(message);
            if ordered {
                order.check(message);
            }
        }
    }
}

/// Four threads send, four receive. `contexts`: those of the sender and of the receiver.
fn check_eight_threads(transport: &str, contexts: [&Context; 2], options: &Options) {
    let (push, pull) = pair_with(transport, contexts[0], contexts[1], options);
    let count = amount(20_000, 500_000) as u64;
    let numbers = Numbers::new(4, count);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| receive_mixed(&pull, &numbers, true));
        }
        let senders: Vec<_> = (0..4)
            .map(|sender| (push.clone(), sender))
            .map(|(push, sender)| scope.spawn(move || send_mixed(&push, sender, count)))
            .collect();
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        (0..4).for_each(|_| push.send(&numbered(END, END)).unwrap());
        push.flush();
    });
    numbers.check_complete(transport);
    assert_eq!(push.stats().sent, 4 * count + 4, "{transport}");
    assert_eq!(pull.stats().received, 4 * count + 4, "{transport}");
}

#[test]
fn eight_threads_share_two_sockets_of_two_engines() {
    for transport in TRANSPORTS {
        for options in [Options::default(), low_marks()] {
            check_eight_threads(transport, [&Context::new(), &Context::new()], &options);
        }
    }
}

#[test]
fn eight_threads_share_two_sockets_of_one_engine() {
    for transport in TRANSPORTS {
        let context = Context::new();
        check_eight_threads(transport, [&context, &context], &low_marks());
    }
}

#[test]
fn two_threads_talk_both_ways_at_once() {
    for transport in TRANSPORTS {
        let (one, other) = (Context::new(), Context::new());
        let (to, from) = pair(transport, &one, &other);
        let (back, answers) = pair(transport, &other, &one);
        let count = amount(20_000, 2_000_000) as u64;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for number in 0..count {
                    back.send(&numbered(1, number)).unwrap();
                    assert_eq!(from.recv_timeout(LONG).expect(transport).body(), numbered(0, number));
                }
            });
            for number in 0..count {
                to.send(&numbered(0, number)).unwrap();
                assert_eq!(answers.recv_timeout(LONG).expect(transport).body(), numbered(1, number));
            }
        });
    }
}

#[test]
fn many_senders_of_their_own_engines_reach_one_receiver() {
    for transport in TRANSPORTS {
        let pull = Pull::new(&Context::new()).unwrap();
        let bound = pull.bind(&crate::endpoints::endpoint(transport)).unwrap().to_string();
        let (senders, count) = (6, amount(20_000, 500_000) as u64);
        let numbers = Numbers::new(senders, count);
        std::thread::scope(|scope| {
            for sender in 0..senders {
                let bound = &bound;
                scope.spawn(move || {
                    let push = Push::new(&Context::new()).unwrap();
                    push.connect(bound).unwrap();
                    send_mixed(&push, sender, count);
                });
            }
            let mut order = Order::default();
            for _ in 0..senders * count {
                let message = pull.recv_timeout(LONG).expect(transport);
                numbers.note(&message);
                order.check(&message);
            }
        });
        numbers.check_complete(transport);
        assert_eq!(pull.try_recv(), Err(RecvError::WouldBlock));
    }
}
