//! When a socket is readable and writable, pattern by pattern.

use hairstreak_socket::{
    AddError, Context, Dealer, Interest, Options, Overflow, Pair, Poller, Pub, Pull, Push, Ready, RecvError,
    Rep, Req, Router, SendError, Sub, XPub, XSub,
};
use hairstreak_testkit::until_eq;

use crate::finding::{becomes, is, look, wait};
use crate::joined::{joined, pull_of};
use crate::{LONG, TRANSPORTS};

fn options() -> Options {
    Options { send_count_max: 4, receive_count_max: 4, ..Options::default() }
}

#[test]
fn a_socket_is_readable_as_long_as_a_message_is_here() {
    for transport in TRANSPORTS {
        let (pull, push): (Pull, Push) =
            joined(&Context::new(), &Context::new(), transport, &Options::default());
        assert_eq!(is(&pull), (false, false));
        for number in 0..3u8 {
            push.send_timeout(&[number], LONG).unwrap();
        }
        push.flush();
        assert!(becomes(&pull, Interest::READABLE));
        for number in 0..3u8 {
            assert!(becomes(&pull, Interest::BOTH), "{transport}");
            assert_eq!(pull.stats().received, u64::from(number));
            assert_eq!(pull.try_recv().unwrap().body(), [number]);
        }
        assert_eq!(is(&pull), (false, false), "{transport}");
        assert_eq!((pull.stats().received, pull.peers()[0].received), (3, 3));
    }
}

#[test]
fn what_a_look_has_found_is_received_by_every_call_and_in_order() {
    for transport in TRANSPORTS {
        let (pull, push): (Pull, Push) =
            joined(&Context::new(), &Context::new(), transport, &Options::default());
        push.send_all((0..400u16).map(|number| number.to_le_bytes()).collect::<Vec<_>>().iter()).unwrap();
        push.flush();
        let mut got = Vec::new();
        while got.len() < 400 {
            assert!(becomes(&pull, Interest::READABLE));
            match got.len() % 4 {
                0 => got.push(pull.recv().unwrap()),
                1 => got.push(pull.recv_timeout(LONG).unwrap()),
                2 => got.push(crate::executor::block_on(pull.recv_async()).unwrap()),
                _ => {
                    let mut batch = Vec::new();
                    pull.recv_many(&mut batch, 5).unwrap();
                    got.append(&mut batch);
                }
            }
        }
        for (number, message) in got.iter().enumerate() {
            assert_eq!(message.body(), u16::try_from(number).unwrap().to_le_bytes(), "{transport}");
        }
    }
}

#[test]
fn a_socket_is_writable_as_long_as_a_peer_has_room() {
    for transport in TRANSPORTS {
        let alone = Push::new(&Context::new()).unwrap();
        assert_eq!(is(&alone), (false, false));
        let (pull, push): (Pull, Push) = joined(&Context::new(), &Context::new(), transport, &options());
        let body = vec![1; 100_000];
        let mut sent = 0;
        while is(&push) == (false, true) {
            push.try_send(&body).unwrap();
            sent += 1;
        }
        assert_eq!(push.try_send(&body), Err(SendError::WouldBlock), "{transport}");
        for _ in 0..sent {
            assert_eq!(pull.recv_timeout(LONG).unwrap().size(), body.len());
        }
        assert!(becomes(&push, Interest::BOTH));
        push.try_send(&body).unwrap();
    }
}

#[test]
fn a_socket_that_drops_is_always_writable() {
    let dropping = Options { overflow: Some(Overflow::DropNewest), ..options() };
    assert_eq!(is(&Push::with_options(&Context::new(), dropping).unwrap()), (false, true));
    assert_eq!(is(&Pub::new(&Context::new()).unwrap()), (false, true));
    assert_eq!(is(&XPub::new(&Context::new()).unwrap()), (false, true));
    assert_eq!(is(&Router::new(&Context::new()).unwrap()), (false, true));
}

#[test]
fn a_publisher_that_waits_is_writable_when_all_have_room() {
    let waiting = Options { overflow: Some(Overflow::Block), ..options() };
    for transport in TRANSPORTS {
        let (publisher, subscriber): (Pub, Sub) =
            joined(&Context::new(), &Context::new(), transport, &waiting);
        subscriber.subscribe("").unwrap();
        assert!(publisher.wait_for_subscribers(1, LONG));
        let body = vec![1; 100_000];
        let mut sent = 0;
        while is(&publisher) == (false, true) {
            publisher.try_send(&body).unwrap();
            sent += 1;
        }
        assert_eq!(publisher.try_send(&body), Err(SendError::WouldBlock), "{transport}");
        (0..sent).for_each(|_| drop(subscriber.recv_timeout(LONG).unwrap()));
        assert!(becomes(&publisher, Interest::WRITABLE));
        assert_eq!(publisher.stats().drops.newest, 0);
    }
}

#[test]
fn req_and_rep_are_ready_when_it_is_their_turn() {
    for transport in TRANSPORTS {
        let (rep, req): (Rep, Req) = joined(&Context::new(), &Context::new(), transport, &Options::default());
        for _ in 0..3 {
            assert_eq!((is(&rep), is(&req)), ((false, false), (false, true)));
            req.try_send("question").unwrap();
            req.flush();
            assert!(becomes(&rep, Interest::BOTH));
            assert_eq!((is(&rep), is(&req)), ((true, false), (false, false)), "{transport}");
            assert_eq!(rep.try_send("too early"), Err(SendError::OutOfTurn));
            assert_eq!(rep.try_recv().unwrap().body(), b"question");
            assert_eq!((is(&rep), is(&req)), ((false, true), (false, false)), "{transport}");
            rep.try_send("answer").unwrap();
            rep.flush();
            assert!(becomes(&req, Interest::BOTH));
            assert_eq!((is(&rep), is(&req)), ((false, false), (true, false)), "{transport}");
            assert_eq!(req.try_send("too early"), Err(SendError::OutOfTurn));
            assert_eq!(req.try_recv().unwrap().body(), b"answer");
        }
    }
}

#[test]
fn a_relaxed_req_may_pass_over_the_reply_it_was_told_of() {
    let relaxed = Options { req_relaxed: true, req_correlate: true, ..Options::default() };
    for transport in TRANSPORTS {
        let (rep, req): (Rep, Req) = joined(&Context::new(), &Context::new(), transport, &relaxed);
        for question in ["one", "two"] {
            req.try_send(question).unwrap();
            req.flush();
            let asked = rep.recv_timeout(LONG).unwrap();
            assert_eq!(asked.body(), question.as_bytes());
            rep.try_send(&asked).unwrap();
            rep.flush();
            assert!(becomes(&req, Interest::READABLE));
        }
        assert_eq!(req.try_recv().unwrap().body(), b"two", "{transport}");
        assert_eq!(req.try_recv(), Err(RecvError::OutOfTurn));
    }
}

#[test]
fn a_req_whose_peer_is_lost_is_readable() {
    for transport in TRANSPORTS {
        let (rep, req): (Rep, Req) = joined(&Context::new(), &Context::new(), transport, &Options::default());
        req.try_send("question").unwrap();
        req.flush();
        rep.recv_timeout(LONG).unwrap();
        drop(rep);
        assert!(becomes(&req, Interest::READABLE), "{transport}");
        assert_eq!(req.try_recv(), Err(RecvError::PeerLost));
        assert_eq!(req.try_recv(), Err(RecvError::OutOfTurn));
    }
}

#[test]
fn a_subscriber_is_readable_by_what_it_subscribed_to_alone() {
    for transport in TRANSPORTS {
        // To an XSUB everything is for the application, and the publisher sends what any of its peers wants.
        let (publisher, subscriber): (XPub, Sub) =
            joined(&Context::new(), &Context::new(), transport, &Options::default());
        subscriber.subscribe("a").unwrap();
        assert!(becomes(&publisher, Interest::READABLE));
        assert_eq!(publisher.try_recv().unwrap().body(), b"\x01a");
        assert_eq!(is(&publisher), (false, true));
        // On its way when the subscriber changes its mind.
        publisher.try_send("a late").unwrap();
        publisher.flush();
        assert!(subscriber.unsubscribe("a").unwrap());
        subscriber.subscribe("b").unwrap();
        assert!(publisher.wait_for_subscribers_to("b", 1, LONG));
        publisher.try_send("b").unwrap();
        publisher.flush();
        assert!(becomes(&subscriber, Interest::BOTH));
        assert_eq!(subscriber.try_recv().unwrap().body(), b"b", "{transport}");
        assert_eq!(subscriber.stats().drops.unexpected, 1);
    }
}

#[test]
fn both_ways_are_told_apart_on_pair_dealer_router_and_xsub() {
    for transport in TRANSPORTS {
        let new = || (Context::new(), Context::new());
        let (a, b) = new();
        let (left, right): (Pair, Pair) = joined(&a, &b, transport, &Options::default());
        left.try_send("x").unwrap();
        left.flush();
        assert!(becomes(&right, Interest::READABLE));
        assert_eq!((is(&left), is(&right)), ((false, true), (true, true)));

        let (a, b) = new();
        let (router, dealer): (Router, Dealer) = joined(&a, &b, transport, &Options::default());
        dealer.try_send("x").unwrap();
        dealer.flush();
        assert!(becomes(&router, Interest::READABLE));
        assert_eq!((is(&dealer), is(&router)), ((false, true), (true, true)));
        let asked = router.try_recv().unwrap();
        router.try_send(&asked).unwrap();
        router.flush();
        assert!(becomes(&dealer, Interest::READABLE));
        assert_eq!(dealer.try_recv().unwrap().body(), b"x");

        let (a, b) = new();
        let (publisher, subscriber): (XPub, XSub) = joined(&a, &b, transport, &Options::default());
        assert_eq!(is(&subscriber), (false, true));
        subscriber.try_send(b"\x01").unwrap();
        assert!(publisher.wait_for_subscribers(1, LONG));
        publisher.try_send("x").unwrap();
        publisher.flush();
        assert!(becomes(&subscriber, Interest::READABLE));
    }
}

#[test]
fn what_is_registered_is_reported_under_its_own_key() {
    let (a, to_a) = pull_of(&Context::new(), "tcp");
    let (b, to_b) = pull_of(&Context::new(), "inproc");
    let mut poller = Poller::new().unwrap();
    poller.add(&a, 1, Interest::READABLE).unwrap();
    poller.add(&b, 2, Interest::READABLE).unwrap();
    poller.add(&to_a, 3, Interest::WRITABLE).unwrap();
    assert!(matches!(poller.add(&to_b, 2, Interest::BOTH), Err(AddError::KeyInUse(2))));
    let keys = |ready: Vec<Ready>| {
        let mut keys: Vec<_> = ready.iter().map(|ready| ready.key).collect();
        keys.sort_unstable();
        keys
    };
    assert_eq!(keys(wait(&mut poller)), [3]);
    poller.modify(3, Interest::NONE).unwrap();
    assert_eq!(keys(look(&mut poller)), [0; 0]);
    to_b.try_send("b").unwrap();
    to_b.flush();
    assert_eq!(keys(wait(&mut poller)), [2]);
    poller.modify(3, Interest::WRITABLE).unwrap();
    to_a.try_send("a").unwrap();
    to_a.flush();
    until_eq("keys", vec![1, 2, 3], || keys(look(&mut poller)));
    assert!(poller.remove(2) && !poller.remove(2));
    assert!(poller.modify(2, Interest::BOTH).is_err());
    assert_eq!(keys(wait(&mut poller)), [1, 3]);
}
