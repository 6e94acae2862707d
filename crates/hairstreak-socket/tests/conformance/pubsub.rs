//! PUB, SUB, XPUB and XSUB.

use hairstreak_socket::{
    Drops, Message, Options, Overflow, Pub, Publishes, SendError, Socket, Sub, Subscribes, XPub, XSub,
};
use hairstreak_testkit::{until, until_eq};

use hairstreak_socket::pubsub::{PubPattern, SubPattern, XPubPattern, XSubPattern};

use crate::LONG;
use crate::cell::{Cell, check, frames};
use crate::shapes::shapes;

/// Subscribes and waits until the publisher knows.
fn subscribe<P: Publishes, S: Subscribes>(publisher: &Socket<P>, subscriber: &Socket<S>, prefix: &str) {
    let (before, peers) = (subscriptions(publisher), publisher.peers().len());
    subscriber.subscribe(prefix).unwrap();
    until_eq("subscriptions", before + 1, || subscriptions(publisher));
    assert!(publisher.wait_for_subscribers_to(prefix, 1, LONG) && peers > 0);
}

/// Different prefixes of all peers.
fn subscriptions<P: Publishes>(publisher: &Socket<P>) -> usize {
    publisher.peers().iter().map(|peer| peer.subscription_count).sum()
}

fn every_shape_arrives<P: Publishes, S: Subscribes>(cell: Cell) {
    let publisher: Socket<P> = cell.open(Options::default());
    let subscribers: [Socket<S>; 3] = [(); 3].map(|()| cell.open(Options::default()));
    subscribers.iter().for_each(|subscriber| subscriber.subscribe("").unwrap());
    subscribers.iter().for_each(|subscriber| cell.join(&publisher, subscriber));
    assert!(publisher.wait_for_subscribers(3, LONG));
    for message in shapes() {
        cell.send(&publisher, &message);
        for subscriber in &subscribers {
            assert_eq!(cell.recv(subscriber), message, "{cell:?}");
        }
    }
    assert_eq!((publisher.stats().sent, publisher.stats().drops), (42, Drops::default()));
    assert!(publisher.peers().iter().all(|peer| peer.sent == 42));
}

#[test]
fn every_subscriber_of_every_publisher_gets_messages_of_every_shape() {
    check(|cell| {
        every_shape_arrives::<PubPattern, SubPattern>(cell);
        every_shape_arrives::<PubPattern, XSubPattern>(cell);
        every_shape_arrives::<XPubPattern, SubPattern>(cell);
        every_shape_arrives::<XPubPattern, XSubPattern>(cell);
    });
}

#[test]
fn a_subscriber_gets_what_it_subscribed_to_once() {
    check(|cell| {
        let (publisher, subscriber): (Pub, Sub) = cell.pair();
        cell.send(&publisher, "too early");
        subscribe(&publisher, &subscriber, "a");
        subscribe(&publisher, &subscriber, "abc");
        subscribe(&publisher, &subscriber, "x");
        for body in ["abcd", "b", "", "ab", "xy", "A", "a"] {
            cell.send(&publisher, body);
        }
        cell.send(&publisher, &frames(["b", "abc"]));
        cell.send(&publisher, &frames(["abc", "b"]));
        for body in ["abcd", "ab", "xy", "a"] {
            assert_eq!(cell.recv_text(&subscriber), body, "{cell:?}");
        }
        assert_eq!(cell.recv(&subscriber), frames(["abc", "b"]));
        let stats = publisher.stats();
        assert_eq!((stats.sent, stats.drops), (10, Drops { no_peer: 5, ..Drops::default() }));
        assert_eq!(subscriber.stats().received, 5);
    });
}

#[test]
fn subscriptions_are_counted() {
    check(|cell| {
        let (publisher, subscriber): (Pub, Sub) = cell.pair();
        subscribe(&publisher, &subscriber, "a");
        subscriber.subscribe("a").unwrap();
        assert_eq!(subscriber.unsubscribe("a"), Ok(true));
        subscribe(&publisher, &subscriber, "end");
        cell.send(&publisher, "a1");
        assert_eq!(cell.recv_text(&subscriber), "a1", "{cell:?}");
        assert_eq!(subscriber.unsubscribe("a"), Ok(true));
        assert_eq!(subscriber.unsubscribe("a"), Ok(false));
        until("the publisher knows", || subscriptions(&publisher) == 1);
        cell.send(&publisher, "a2");
        cell.send(&publisher, "end");
        assert_eq!(cell.recv_text(&subscriber), "end", "{cell:?}");
    });
}

#[test]
fn what_was_on_its_way_when_it_was_cancelled_is_dropped_and_counted() {
    check(|cell| {
        let (publisher, subscriber): (Pub, Sub) = cell.pair();
        subscribe(&publisher, &subscriber, "a");
        subscribe(&publisher, &subscriber, "b");
        ["a1", "b1", "a2", "b2"].iter().for_each(|body| cell.send(&publisher, *body));
        subscriber.unsubscribe("a").unwrap();
        assert_eq!([cell.recv_text(&subscriber), cell.recv_text(&subscriber)], ["b1", "b2"]);
        assert_eq!((subscriber.stats().received, subscriber.stats().drops.unexpected), (2, 2));
    });
}

#[test]
fn an_xpub_is_shown_the_first_and_the_last_of_each_prefix() {
    check(|cell| {
        let publisher: XPub = cell.open(Options::default());
        let subscribers: [Sub; 2] = [(); 2].map(|()| cell.open(Options::default()));
        subscribers.iter().for_each(|subscriber| cell.join(&publisher, subscriber));
        let [a, b] = &subscribers;
        let expect = |expected: &str| assert_eq!(cell.recv_text(&publisher), expected, "{cell:?}");
        a.subscribe("x").unwrap();
        expect("\x01x");
        b.subscribe("x").unwrap();
        b.subscribe("").unwrap();
        expect("\x01");
        a.unsubscribe("x").unwrap();
        a.subscribe("y").unwrap();
        expect("\x01y");
        b.unsubscribe("x").unwrap();
        expect("\x00x");
        let [a, b] = subscribers;
        a.close();
        expect("\x00y");
        b.close();
        expect("\x00");
    });
}

#[test]
fn a_verbose_xpub_is_shown_every_subscription() {
    check(|cell| {
        let publisher: XPub = cell.open(Options { xpub_verbose: true, ..Options::default() });
        let subscribers: [Sub; 2] = [(); 2].map(|()| cell.open(Options::default()));
        for subscriber in &subscribers {
            cell.join(&publisher, subscriber);
            subscriber.subscribe("x").unwrap();
            assert_eq!(cell.recv_text(&publisher), "\x01x", "{cell:?}");
        }
        for subscriber in &subscribers {
            subscriber.unsubscribe("x").unwrap();
        }
        assert_eq!(cell.recv_text(&publisher), "\x00x", "{cell:?}");
        assert_eq!(publisher.stats().received, 3);
    });
}

#[test]
fn an_xsub_subscribes_by_sending_and_sends_other_messages_upwards() {
    check(|cell| {
        let (publisher, subscriber): (XPub, XSub) = cell.pair();
        cell.send(&subscriber, b"\x01a");
        cell.send(&subscriber, b"\x01a");
        cell.send(&subscriber, b"\x00a");
        cell.send(&subscriber, "hello");
        cell.send(&subscriber, &frames(["\x01", "several frames"]));
        assert_eq!(cell.recv_text(&publisher), "\x01a", "{cell:?}");
        assert_eq!(cell.recv_text(&publisher), "hello");
        assert_eq!(cell.recv(&publisher), frames(["\x01", "several frames"]));
        cell.send(&publisher, "a1");
        assert_eq!(cell.recv_text(&subscriber), "a1");
        cell.send(&subscriber, b"\x00a");
        cell.send(&subscriber, b"\x00a");
        assert_eq!(cell.recv_text(&publisher), "\x00a");
    });
}

#[test]
fn a_pub_drops_and_counts_what_is_no_subscription() {
    check(|cell| {
        let (publisher, subscriber): (Pub, XSub) = cell.pair();
        cell.send(&subscriber, "hello");
        subscribe(&publisher, &subscriber, "x");
        assert_eq!(publisher.stats().drops.unexpected, 1);
    });
}

#[test]
fn subscriptions_pass_through_a_forwarder() {
    check(|cell| {
        let (front, back): (XSub, XPub) = (cell.open(Options::default()), cell.open(Options::default()));
        let (publisher, subscriber): (Pub, Sub) =
            (cell.open(Options::default()), cell.open(Options::default()));
        cell.join(&publisher, &front);
        cell.join(&back, &subscriber);
        subscriber.subscribe("a").unwrap();
        let subscription = cell.recv(&back);
        cell.send(&front, &subscription);
        assert!(publisher.wait_for_subscribers_to("a", 1, LONG));
        cell.send(&publisher, "b");
        cell.send(&publisher, "a");
        let message = cell.recv(&front);
        cell.send(&back, &message);
        assert_eq!(cell.recv_text(&subscriber), "a");
    });
}

#[test]
fn a_publisher_that_comes_late_or_comes_back_is_told_every_subscription() {
    check(|cell| {
        const COUNT: usize = 10_000;
        let options = || Options { reconnect_max_ms: 10, ..Options::default() };
        let subscriber: Sub = cell.open(options());
        (0..COUNT).for_each(|number| subscriber.subscribe(format!("{number}")).unwrap());
        let mut place = crate::endpoints::endpoint(cell.transport);
        for _ in 0..2 {
            let publisher: Pub = cell.open(options());
            until("the name is free", || match publisher.bind(&place) {
                Ok(bound) => {
                    place = bound.to_string();
                    true
                }
                Err(_) => false,
            });
            subscriber.disconnect(&place);
            subscriber.connect(&place).unwrap();
            until("all are there", || subscriptions(&publisher) == COUNT);
            cell.send(&publisher, "9999");
            assert_eq!(cell.recv_text(&subscriber), "9999");
            publisher.close();
            until("it is gone", || subscriber.peers().is_empty());
        }
    });
}

#[test]
fn a_subscriber_that_stays_connected_tells_a_publisher_that_comes_back() {
    check(|cell| {
        let subscriber: Sub = cell.open(Options { reconnect_max_ms: 10, ..Options::default() });
        subscriber.subscribe("a").unwrap();
        let first: Pub = cell.open(Options::default());
        let place = first.bind(&crate::endpoints::endpoint(cell.transport)).unwrap().to_string();
        subscriber.connect(&place).unwrap();
        assert!(first.wait_for_subscribers(1, LONG));
        subscriber.subscribe("b").unwrap();
        first.close();
        let second: Pub = cell.open(Options::default());
        until("the name is free", || second.bind(&place).is_ok());
        until("both are there", || subscriptions(&second) == 2);
    });
}

/// Publishes numbered messages until some were dropped; what then arrives, and what was dropped, are all.
fn nothing_is_lost_uncounted(cell: Cell, bodies: &[Vec<u8>]) {
    let marks = Options { send_count_max: 8, ..Options::default() };
    let publisher: Pub = cell.open(marks);
    let slow: Sub = cell.open(Options { receive_count_max: 1, ..Options::default() });
    let quick: Sub = cell.open(Options::default());
    cell.join(&publisher, &slow);
    subscribe(&publisher, &slow, "");
    let mut sent = 0;
    while publisher.stats().drops.newest < 100 {
        cell.send(&publisher, &bodies[sent]);
        sent += 1;
    }
    let peer = publisher.peers().remove(0);
    assert_eq!(peer.sent + peer.drops.newest, sent as u64, "{cell:?}");
    assert_eq!(peer.drops.newest, publisher.stats().drops.newest);
    let mut last = None;
    for _ in 0..peer.sent {
        let number = cell.recv(&slow).frame(0).unwrap()[..8].to_vec();
        assert!(last.replace(number.clone()) < Some(number), "in order");
    }
    cell.join(&publisher, &quick);
    subscribe(&publisher, &quick, "");
    until("there is room again", || publisher.peers().iter().all(|peer| peer.queued_count == 0));
    cell.send(&publisher, "end");
    assert_eq!((cell.recv_text(&slow), cell.recv_text(&quick)), ("end".into(), "end".into()));
    assert_eq!(slow.stats().received, peer.sent + 1);
}

#[test]
fn a_slow_subscriber_misses_messages_and_every_one_is_counted() {
    let bodies: Vec<Vec<u8>> = (0..20_000u64)
        .map(|number| [&number.to_be_bytes()[..], &vec![7; 30_000 * usize::from(number < 3000)]].concat())
        .collect();
    check(|cell| nothing_is_lost_uncounted(cell, &bodies));
}

#[test]
fn a_publisher_that_blocks_waits_for_the_slowest() {
    check(|cell| {
        for overflow in [Overflow::Block, Overflow::Error] {
            let marks = Options { send_count_max: 8, overflow: Some(overflow), ..Options::default() };
            let publisher: Pub = cell.open(marks);
            let slow: Sub = cell.open(Options { receive_count_max: 1, ..Options::default() });
            cell.join(&publisher, &slow);
            subscribe(&publisher, &slow, "");
            let body = vec![7; 100_000];
            let mut sent = 0;
            while publisher.try_send(&body) == Ok(()) {
                sent += 1;
            }
            if overflow == Overflow::Error {
                assert_eq!(publisher.send(&body), Err(SendError::WouldBlock), "{cell:?}");
            }
            (0..sent).for_each(|_| assert_eq!(cell.recv(&slow), Message::from(body.clone())));
            until("there is room", || publisher.try_send(&body) == Ok(()));
            cell.recv(&slow);
            assert_eq!(publisher.stats().drops, Drops::default());
        }
    });
}
