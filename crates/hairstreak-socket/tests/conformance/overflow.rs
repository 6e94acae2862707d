//! What becomes of messages for which there is no room: every one is received, or refused, or counted.

use hairstreak_socket::{Options, Overflow, Pub, Pull, Push, SendError, Sub};

use crate::LONG;
use crate::cell::{Cell, check, until};

/// Large enough that a kernel does not hold many.
const SIZE: usize = 50_000;
const COUNT_MAX: usize = 8;

fn options(overflow: Overflow) -> Options {
    Options { send_count_max: COUNT_MAX, send_count_low: 4, overflow: Some(overflow), ..Options::default() }
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
        assert_eq!(push.send_all([&body(0)]), Err(SendError::WouldBlock));
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
