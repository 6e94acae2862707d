//! What becomes of messages for which there is no room: every one is received, or refused, or counted.

use std::array;
use std::thread;

use hairstreak_socket::{
    Drops, Options, Overflow, Pub, Pull, Push, SendAllError, SendError, Sub, XPub, XSub,
};
use hairstreak_testkit::until;

use crate::LONG;
use crate::cell::{Cell, Form, check};

/// Large enough that a kernel does not hold many.
const SIZE: usize = 50_000;
const COUNT_MAX: usize = 8;

fn options(overflow: Overflow) -> Options {
    Options { send_count_max: COUNT_MAX, overflow: Some(overflow), ..Options::default() }
}

/// A PUSH with this policy, and a PULL that does not receive yet.
fn pair(cell: Cell, overflow: Overflow) -> (Push, Pull) {
    let push = cell.open(options(overflow));
    let pull = cell.open(Options { receive_count_max: 1, ..Options::default() });
    cell.join(&push, &pull);
    (push, pull)
}

fn body(number: u64) -> Vec<u8> {
    let mut body = vec![7; SIZE];
    body[..8].copy_from_slice(&number.to_be_bytes());
    body
}

fn number(body: &[u8]) -> u64 {
    u64::from_be_bytes(body[..8].try_into().unwrap())
}

#[test]
fn a_send_that_is_not_to_wait_fails_when_there_is_no_room() {
    check(|cell| {
        let (push, pull) = pair(cell, Overflow::Error);
        let mut sent = 0;
        while push.send(&body(sent)) == Ok(()) {
            sent += 1;
        }
        assert_eq!(push.send_timeout(&body(0), LONG), Err(SendError::WouldBlock));
        assert_eq!(
            push.send_all([&body(0)]),
            Err(SendAllError { sent_count: 0, source: SendError::WouldBlock })
        );
        (0..sent).for_each(|expected| assert_eq!(number(cell.recv(&pull).body()), expected));
        until("there is room again", || push.try_send(&body(sent)) == Ok(()));
        push.flush();
        assert_eq!(number(cell.recv(&pull).body()), sent);
        assert_eq!(push.stats().sent, sent + 1);
        let lonely: Push = cell.open(options(Overflow::Error));
        assert_eq!(lonely.send("x"), Err(SendError::WouldBlock));
    });
}

#[test]
fn a_batch_that_fails_says_how_many_were_sent() {
    check(|cell| {
        let (push, pull) = pair(cell, Overflow::Error);
        let bodies: Vec<Vec<u8>> = (0..500).map(body).collect();
        let failed = push.send_all(&bodies).unwrap_err();
        assert_eq!(failed.source, SendError::WouldBlock, "{cell:?}");
        assert!((COUNT_MAX..bodies.len()).contains(&failed.sent_count), "{cell:?}: {failed}");
        assert_eq!(push.stats().sent, failed.sent_count as u64, "{cell:?}");
        (0..failed.sent_count as u64).for_each(|sent| assert_eq!(number(cell.recv(&pull).body()), sent));
        let from = failed.sent_count;
        until("there is room again", || push.try_send(&bodies[from]) == Ok(()));
        assert_eq!(number(cell.recv(&pull).body()), from as u64, "{cell:?}");
        push.clone().close();
        assert_eq!(push.send_all(&bodies), Err(SendAllError { sent_count: 0, source: SendError::Closed }));
    });
}

#[test]
fn a_push_that_drops_the_newest_keeps_the_oldest() {
    check(|cell| {
        let (push, pull) = pair(cell, Overflow::DropNewest);
        let mut sent = 0;
        while push.stats().drops.newest < 20 {
            cell.send(&push, &body(sent));
            sent += 1;
        }
        let kept = sent - 20;
        (0..kept).for_each(|expected| assert_eq!(number(cell.recv(&pull).body()), expected));
        assert_eq!((push.stats().sent, pull.stats().received), (sent, kept));
        let lonely: Push = cell.open(options(Overflow::DropNewest));
        cell.send(&lonely, "x");
        assert_eq!((lonely.stats().sent, lonely.stats().drops.no_peer), (1, 1));
    });
}

#[test]
fn a_push_that_drops_the_oldest_keeps_the_newest() {
    check(|cell| {
        let (push, pull) = pair(cell, Overflow::DropOldest);
        let mut sent = 0;
        while push.stats().drops.oldest < 20 {
            cell.send(&push, &body(sent));
            sent += 1;
            assert!(push.stats().queued_count <= COUNT_MAX);
        }
        assert_eq!(push.peers()[0].drops, push.stats().drops);
        let mut last = None;
        for received in 1..=sent - 20 {
            let number = number(cell.recv(&pull).body());
            assert!(last < Some(number), "{cell:?}: {number} after {last:?}, message {received}");
            last = Some(number);
        }
        assert_eq!(last, Some(sent - 1), "the newest is kept");
        assert_eq!(push.stats().drops.oldest, 20);
        cell.send(&push, &body(sent));
        assert_eq!(number(cell.recv(&pull).body()), sent);
    });
}

#[test]
fn what_is_held_when_the_socket_closes_is_sent_as_far_as_there_is_room() {
    check(|cell| {
        let (push, pull) = pair(cell, Overflow::DropOldest);
        (0..COUNT_MAX as u64).for_each(|number| cell.send(&push, &body(number)));
        push.close();
        (0..COUNT_MAX as u64).for_each(|expected| assert_eq!(number(cell.recv(&pull).body()), expected));
    });
}

#[test]
fn a_slow_subscriber_of_a_pub_that_drops_the_oldest_sees_the_newest() {
    check(|cell| {
        let publisher: Pub = cell.open(options(Overflow::DropOldest));
        let slow: Sub = cell.open(Options { receive_count_max: 1, ..Options::default() });
        let quick: Sub = cell.open(Options::default());
        for subscriber in [&slow, &quick] {
            subscriber.subscribe("").unwrap();
            cell.join(&publisher, subscriber);
        }
        assert!(publisher.wait_for_subscribers(2, LONG));
        let mut sent = 0;
        while publisher.stats().drops.oldest < 20 {
            cell.send(&publisher, &body(sent));
            assert_eq!(number(cell.recv(&quick).body()), sent, "{cell:?}");
            sent += 1;
        }
        let mut last = 0;
        (20..sent).for_each(|_| last = number(cell.recv(&slow).body()));
        assert_eq!(last, sent - 1);
    });
}

/// Short enough to gather until there are more than the mark allows, and in all more than any transport holds.
#[test]
fn a_pub_that_waits_loses_nothing_that_gathered_past_the_mark() {
    const SHORT_SIZE: usize = 1000;
    const SENT: u64 = 12_000;
    check(|cell| {
        // What is sent in other forms is flushed at once.
        if !matches!(cell.form, Form::Blocking) {
            return;
        }
        let publisher: Pub = cell.open(options(Overflow::Block));
        let subscribers: [Sub; 2] = array::from_fn(|_| {
            let subscriber: Sub = cell.open(Options { receive_count_max: 1, ..Options::default() });
            subscriber.subscribe("").unwrap();
            cell.join(&publisher, &subscriber);
            subscriber
        });
        assert!(publisher.wait_for_subscribers(2, LONG));
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..SENT {
                    publisher.send_timeout(&body(number)[..SHORT_SIZE], LONG).unwrap();
                }
            });
            // Nobody receives until the way is full.
            until("the mark is reached", || {
                publisher.peers().iter().any(|peer| peer.queued_count >= COUNT_MAX)
            });
            for subscriber in &subscribers {
                scope.spawn(move || {
                    for expected in 0..SENT {
                        let message = subscriber.recv_timeout(LONG).unwrap();
                        assert_eq!(number(message.body()), expected, "{cell:?}");
                    }
                });
            }
        });
        assert_eq!(publisher.stats().drops, Drops::default(), "{cell:?}");
    });
}

#[test]
fn a_publisher_that_blocks_and_never_receives_does_not_wait_for_a_subscriber_that_has_gone() {
    check(|cell| {
        let publisher: XPub = cell.open(Options { receive_count_max: COUNT_MAX, ..options(Overflow::Block) });
        let [stays, goes] = [(); 2].map(|()| {
            let options = Options { receive_count_max: 1, linger_ms: 0, ..Options::default() };
            let subscriber: Sub = cell.open(options);
            cell.join(&publisher, &subscriber);
            subscriber
        });
        stays.subscribe("").unwrap();
        assert!(publisher.wait_for_subscribers(1, LONG));
        // More than it takes in while the application does not receive them.
        (0..3 * COUNT_MAX).for_each(|number| goes.subscribe([7, number as u8]).unwrap());
        assert!(publisher.wait_for_subscribers(2, LONG));
        let receiving = thread::spawn(move || {
            for wanted in 0..100 {
                assert_eq!(number(&stays.recv_timeout(LONG).unwrap().body()[2..]), wanted);
            }
            stays
        });
        drop(goes);
        for number in 0..100 {
            publisher.send_timeout(&[&[7, 0], &body(number)[..]].concat(), LONG).unwrap();
        }
        receiving.join().unwrap();
    });
}

#[test]
fn a_publisher_that_never_receives_lets_go_of_subscribers_that_have_gone() {
    check(|cell| {
        let publisher: XPub = cell.open(Options { receive_count_max: COUNT_MAX, ..options(Overflow::Block) });
        for _ in 0..3 {
            let goes: Sub = cell.open(Options { linger_ms: 0, ..Options::default() });
            cell.join(&publisher, &goes);
            // More than it takes in, and more than it reads ahead.
            (0..5 * COUNT_MAX).for_each(|number| goes.subscribe([7, number as u8]).unwrap());
            drop(goes);
            until("it is let go", || publisher.peers().is_empty());
        }
        let leaves: XSub = cell.open(Options::default());
        cell.join(&publisher, &leaves);
        leaves.subscribe("last").unwrap();
        leaves.send("left").unwrap();
        drop(leaves);
        until("what it has left is received", || cell.recv(&publisher).body() == b"left");
        until("it is let go too", || {
            let _ = publisher.try_recv();
            publisher.peers().is_empty()
        });
    });
}
