//! Streamer, queue and forwarder: what goes in comes out.

use std::thread;

use hairstreak_socket::pipeline::{PullPattern, PushPattern};
use hairstreak_socket::pubsub::{XPubPattern, XSubPattern};
use hairstreak_socket::reqrep::{DealerPattern, RouterPattern};
use hairstreak_socket::{
    Context, Dealer, Message, Options, ProxyStats, Pub, Pull, Push, Rep, Req, Router, Sub, XPub, XSub,
};
use hairstreak_testkit::until;

use crate::bridge::Bridge;
use crate::{LONG, TRANSPORTS};

const COUNT: usize = 2000;

fn message(number: usize) -> Message {
    let size = [0, 1, 60, 300, 9000, 100_000][number % 6];
    Message::from_frames([&number.to_le_bytes()[..], b"", &vec![number as u8; size]])
}

fn check_balance(stats: &ProxyStats) {
    let received = stats.frontend.received + stats.backend.received;
    let sent = stats.frontend.sent + stats.backend.sent;
    assert_eq!(received, sent + stats.refused + stats.in_hand, "{stats:?}");
}

#[test]
fn a_streamer_passes_every_message_whole_and_in_order() {
    for transport in TRANSPORTS {
        let options = Options::default();
        let bridge = Bridge::<PullPattern, PushPattern>::start(transport, &options);
        let (push, pull): (Push, Pull) = (bridge.enter(&options), bridge.leave(&options));
        let sender = thread::spawn(move || {
            (0..COUNT).for_each(|number| push.send_timeout(&message(number), LONG).unwrap());
            push.flush();
            push
        });
        for number in 0..COUNT {
            assert!(pull.recv_timeout(LONG).unwrap() == message(number), "{transport} {number}");
        }
        sender.join().unwrap();
        let stats = bridge.end();
        let bytes: usize = (0..COUNT).map(|number| message(number).size()).sum();
        assert_eq!((stats.frontend.received, stats.frontend.received_bytes), (COUNT as u64, bytes as u64));
        assert_eq!((stats.backend.sent, stats.backend.sent_bytes), (COUNT as u64, bytes as u64));
        assert_eq!((stats.frontend.sent, stats.backend.received, stats.in_hand), (0, 0, 0));
    }
}

#[test]
fn a_queue_brings_every_answer_to_who_asked() {
    for transport in TRANSPORTS {
        let options = Options::default();
        let bridge = Bridge::<RouterPattern, DealerPattern>::start(transport, &options);
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let rep: Rep = bridge.leave(&options);
                let handle = rep.clone();
                let thread = thread::spawn(move || {
                    while let Ok(question) = rep.recv() {
                        let answer = [b"re:", question.body()].concat();
                        rep.send(&answer).unwrap();
                    }
                });
                (handle, thread)
            })
            .collect();
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let req: Req = bridge.enter(&options);
                thread::spawn(move || {
                    for number in 0..200 {
                        let question = format!("{client}.{number}");
                        req.send_timeout(&question, LONG).unwrap();
                        let answer = req.recv_timeout(LONG).unwrap();
                        assert_eq!(answer.body(), format!("re:{question}").as_bytes());
                    }
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        for (handle, thread) in workers {
            handle.close();
            thread.join().unwrap();
        }
        let stats = bridge.end();
        assert_eq!((stats.frontend.received, stats.frontend.sent), (800, 800));
        check_balance(&stats);
    }
}

#[test]
fn a_forwarder_passes_what_is_subscribed_to_and_subscriptions_the_other_way() {
    for transport in TRANSPORTS {
        let options = Options::default();
        let bridge = Bridge::<XSubPattern, XPubPattern>::start(transport, &options);
        let (publisher, other): (Pub, XPub) = (bridge.enter(&options), bridge.enter(&options));
        let (a, b): (Sub, XSub) = (bridge.leave(&options), bridge.leave(&options));
        a.subscribe("a").unwrap();
        b.subscribe("b").unwrap();
        for prefix in ["a", "b"] {
            assert!(publisher.wait_for_subscribers_to(prefix, 1, LONG), "{transport}");
            assert!(other.wait_for_subscribers_to(prefix, 1, LONG));
        }
        for number in 0..500 {
            for topic in ["a", "b", "c"] {
                publisher.send_timeout(&format!("{topic}{number}"), LONG).unwrap();
            }
            for (subscriber, topic) in [(a.recv_timeout(LONG), "a"), (b.recv_timeout(LONG), "b")] {
                assert_eq!(subscriber.unwrap().body(), format!("{topic}{number}").as_bytes());
            }
        }
        // The last subscription's end goes all the way too.
        assert!(b.unsubscribe("b").unwrap());
        until("the publisher hears of the cancellation", || {
            publisher.send_timeout("b?", LONG).unwrap();
            publisher.stats().drops.no_peer > 500
        });
        // Subscriptions that an XPUB sees, in order.
        assert_eq!(other.recv_timeout(LONG).unwrap().size(), 2);
        let stats = bridge.end();
        assert_eq!(stats.backend.received, 3, "{stats:?}");
        check_balance(&stats);
    }
}

#[test]
fn a_subscriber_that_comes_back_and_a_publisher_that_comes_late_find_each_other() {
    let options = Options::default();
    let bridge = Bridge::<XSubPattern, XPubPattern>::start("tcp", &options);
    let first: Sub = bridge.leave(&options);
    first.subscribe("x").unwrap();
    let publisher: Pub = bridge.enter(&options);
    assert!(publisher.wait_for_subscribers_to("x", 1, LONG));
    drop(first);
    let second: Sub = bridge.leave(&options);
    second.subscribe("x").unwrap();
    until("messages arrive again", || {
        publisher.send_timeout("x", LONG).unwrap();
        publisher.flush();
        second.try_recv().is_ok()
    });
    bridge.end();
}

#[test]
fn ends_of_different_engines_are_joined_as_well() {
    for transport in TRANSPORTS {
        let open = || thread::spawn(|| Dealer::new(&Context::new()).unwrap()).join().unwrap();
        let bridge = Bridge::between(open(), open(), transport, |_| ());
        let options = Options::default();
        // It waits for room instead of dropping.
        let waiting = Options { router_mandatory: true, ..Options::default() };
        let (near, far): (Dealer, Router) = (bridge.enter(&options), bridge.leave(&waiting));
        let echo = thread::spawn(move || {
            for _ in 0..COUNT {
                let message = far.recv_timeout(LONG).unwrap();
                far.send_timeout(&message, LONG).unwrap();
            }
            far.flush();
            far
        });
        let sending = near.clone();
        let sender = thread::spawn(move || {
            (0..COUNT).for_each(|number| sending.send_timeout(&message(number), LONG).unwrap());
            sending.flush();
        });
        for number in 0..COUNT {
            assert!(near.recv_timeout(LONG).unwrap() == message(number), "{transport} {number}");
        }
        sender.join().unwrap();
        echo.join().unwrap();
        let stats = bridge.end();
        assert_eq!((stats.frontend.sent, stats.backend.sent), (COUNT as u64, COUNT as u64));
        check_balance(&stats);
    }
}
