//! ROUTER: what it receives of peers that come and go.

use std::collections::HashMap;
use std::thread;

use hairstreak_socket::{Context, Dealer, Interest, Options, Poller, RecvError, Router, RouterNotify};
use hairstreak_testkit::until;

use crate::LONG;
use crate::cell::{Cell, check, frames};
use crate::endpoints::endpoint;

const BOTH: RouterNotify = RouterNotify { connect: true, disconnect: true };
/// Notices that may wait to be received.
const COUNT_MAX: usize = 4096;

fn told(router_notify: RouterNotify) -> Options {
    Options { router_notify, ..Options::default() }
}

fn named(name: &str) -> Options {
    Options { routing_id: Some(name.into()), reconnect_max_ms: 10, ..Options::default() }
}

/// A peer of that name that has sent these and gone, before any was received if `cell` has no other say.
fn visit(cell: &Cell, router: &Router, name: &str, messages: &[&str]) {
    let dealer: Dealer = cell.open(named(name));
    cell.join(router, &dealer);
    messages.iter().for_each(|message| cell.send(&dealer, *message));
    dealer.close();
}

fn expect<const N: usize>(cell: &Cell, router: &Router, expected: [[&str; 2]; N]) {
    for message in expected {
        assert_eq!(cell.recv(router), frames(message), "{cell:?}");
    }
}

#[test]
fn a_peers_notices_stand_before_its_first_message_and_behind_its_last() {
    let long = "long".repeat(10_000);
    check(|cell| {
        let router: Router = cell.open(told(BOTH));
        visit(&cell, &router, "ann", &["short", &long, "last"]);
        let all = [["ann", ""], ["ann", "short"], ["ann", &long], ["ann", "last"], ["ann", ""]];
        expect(&cell, &router, all);
        assert_eq!((router.stats().received, router.stats().drops.unreceived), (5, 0), "{cell:?}");
    });
}

#[test]
fn each_kind_of_notice_comes_without_the_other() {
    check(|cell| {
        let router: Router = cell.open(told(RouterNotify { connect: true, disconnect: false }));
        visit(&cell, &router, "ann", &["x"]);
        expect(&cell, &router, [["ann", ""], ["ann", "x"]]);
        until("it is gone", || router.peers().is_empty());
        visit(&cell, &router, "bob", &[]);
        expect(&cell, &router, [["bob", ""]]);
        until("it is gone", || router.peers().is_empty());
        assert_eq!(router.try_recv(), Err(RecvError::WouldBlock), "{cell:?}");
        let router: Router = cell.open(told(RouterNotify { connect: false, disconnect: true }));
        visit(&cell, &router, "ann", &["x"]);
        expect(&cell, &router, [["ann", "x"], ["ann", ""]]);
        assert!(router.peers().is_empty(), "{cell:?}");
        visit(&cell, &router, "bob", &[]);
        expect(&cell, &router, [["bob", ""]]);
    });
}

#[test]
fn who_waits_to_receive_is_woken_by_a_notice_alone() {
    check(|cell| {
        let router: Router = cell.open(told(BOTH));
        thread::scope(|scope| {
            let (router, cell) = (&router, &cell);
            let waiting = scope.spawn(move || expect(cell, router, [["ann", ""], ["ann", ""]]));
            visit(cell, router, "ann", &[]);
            waiting.join().unwrap();
        });
    });
}

#[test]
fn a_poller_finds_a_notice_alone() {
    check(|cell| {
        let router: Router = cell.open(told(BOTH));
        let mut poller = Poller::new().unwrap();
        poller.add(&router, 7, Interest::READABLE).unwrap();
        let mut ready = Vec::new();
        for _ in 0..2 {
            let dealer: Dealer = cell.open(named("ann"));
            cell.join_only(&router, &dealer);
            poller.wait_timeout(&mut ready, LONG).unwrap();
            assert!(ready.iter().any(|found| found.key == 7 && found.readable), "{cell:?}");
            expect(&cell, &router, [["ann", ""]]);
            assert!(dealer.wait_for_peers(1, LONG));
            dealer.close();
            poller.wait_timeout(&mut ready, LONG).unwrap();
            assert!(ready.iter().any(|found| found.key == 7 && found.readable), "{cell:?}");
            expect(&cell, &router, [["ann", ""]]);
        }
    });
}

/// Of one peer short messages lie there that have been read, and would be received the short way.
#[test]
fn notices_stand_before_messages_that_are_here_already() {
    check(|cell| {
        let router: Router = cell.open(told(BOTH));
        let mut poller = Poller::new().unwrap();
        poller.add(&router, 0, Interest::READABLE).unwrap();
        let dealer: Dealer = cell.open(named("x"));
        cell.join(&router, &dealer);
        dealer.send_all(["1", "2", "3"]).unwrap();
        dealer.flush();
        expect(&cell, &router, [["x", ""], ["x", "1"]]);
        let _others = ["ann", "bob"].map(|name| {
            let other: Dealer = cell.open(named(name));
            cell.join(&router, &other);
            other
        });
        // It sets the first notice aside.
        poller.wait_timeout(&mut Vec::new(), LONG).unwrap();
        expect(&cell, &router, [["ann", ""], ["bob", ""], ["x", "2"], ["x", "3"]]);
    });
}

#[test]
fn with_handover_the_going_of_the_first_stands_before_the_coming_of_the_second() {
    check(|cell| {
        // The first would be connected again, and take the name again.
        let once = Options { reconnect_min_ms: 600_000, reconnect_max_ms: 600_000, ..Options::default() };
        let router: Router =
            cell.open(Options { router_handover: true, router_notify: BOTH, ..once.clone() });
        let first: Dealer = cell.open(Options { routing_id: named("x").routing_id, ..once });
        let second: Dealer = cell.open(named("x"));
        cell.join(&router, &first);
        let from_first = "from the first".repeat(100);
        let before = router.stats().received_bytes;
        (0..3).for_each(|_| cell.send(&first, &from_first));
        // Through a ring they come as they are sent.
        until("they have come", || {
            cell.transport == "inproc" || router.stats().received_bytes >= before + 3 * 1400
        });
        cell.join_only(&router, &second);
        until("the first has lost its place", || first.peers().is_empty());
        assert!(second.wait_for_peers(1, LONG));
        cell.send(&second, "from the second");
        let (begin, end) = (["x", ""], ["x", "from the second"]);
        let of_first = ["x", &from_first];
        expect(&cell, &router, [begin, of_first, of_first, of_first, begin, begin, end]);
    });
}

/// The messages of the first lie unread while the next is there already.
#[test]
fn all_of_one_stands_before_all_of_the_next_of_its_name() {
    check(|cell| {
        for is_polled in [false, true] {
            let router: Router = cell.open(told(BOTH));
            let mut poller = Poller::new().unwrap();
            poller.add(&router, 0, Interest::READABLE).unwrap();
            for text in ["a", "b", "c"] {
                visit(&cell, &router, "x", &[text, text]);
                until("it is gone", || router.peers().is_empty());
            }
            let last: Dealer = cell.open(named("x"));
            cell.join(&router, &last);
            cell.send(&last, "d");
            let all = ["", "a", "a", "", "", "b", "b", "", "", "c", "c", "", "", "d"];
            for text in all {
                if is_polled {
                    // It sets the next message aside.
                    poller.wait_timeout(&mut Vec::new(), LONG).unwrap();
                }
                expect(&cell, &router, [["x", text]]);
            }
            let stats = router.stats();
            assert_eq!((stats.received, stats.drops.unreceived), (all.len() as u64, 0), "{cell:?}");
        }
    });
}

#[test]
fn who_disconnects_is_told_of_it_too() {
    check(|cell| {
        let dealer: Dealer = cell.client(named("ann"));
        let router: Router = cell.server(told(BOTH));
        let place = dealer.bind(&endpoint(cell.transport)).unwrap().to_string();
        router.connect(&place).unwrap();
        expect(&cell, &router, [["ann", ""]]);
        assert!(router.disconnect(&place));
        expect(&cell, &router, [["ann", ""]]);
    });
}

/// Peers of names of their own come and go, three at a time, while the application takes the short way as often as it
/// can.
#[test]
fn in_a_crowd_every_peers_messages_stand_between_its_notices() {
    const VISITS: usize = 6;
    const MESSAGES: usize = 200;
    check(|cell| {
        let router: Router = cell.open(told(BOTH));
        let place = router.bind(&endpoint(cell.transport)).unwrap().to_string();
        thread::scope(|scope| {
            for name in ["ann", "bob", "eve"] {
                let (cell, router, place) = (&cell, &router, &place);
                scope.spawn(move || {
                    for _ in 0..VISITS {
                        let dealer: Dealer = cell.client(named(name));
                        dealer.connect(place).unwrap();
                        for number in 1..=MESSAGES {
                            dealer.send(&number.to_le_bytes()).unwrap();
                        }
                        dealer.flush();
                        // The next would be refused while this one has the name.
                        until("it has come", || router.peer(name.as_bytes()).is_some());
                        dealer.close();
                        until("its name is free", || router.peer(name.as_bytes()).is_none());
                    }
                });
            }
            let mut seen: HashMap<Vec<u8>, usize> = HashMap::new();
            let mut batch = Vec::new();
            let mut left = 3 * VISITS * (MESSAGES + 2);
            let mut poller = Poller::new().unwrap();
            poller.add(&router, 0, Interest::READABLE).unwrap();
            while left > 0 {
                if left.is_multiple_of(4) {
                    // It sets the next message aside.
                    poller.wait_timeout(&mut Vec::new(), LONG).unwrap();
                }
                let count = router.recv_many(&mut batch, 1 + left % 50).unwrap();
                left -= count;
                for message in &batch {
                    let [name, body] = message.frames().collect::<Vec<_>>()[..] else {
                        panic!("{message:?}")
                    };
                    let number = seen.entry(name.to_vec()).or_default();
                    let place = *number % (MESSAGES + 2);
                    let is_message = (1..=MESSAGES).contains(&place);
                    let expected = if is_message { place.to_le_bytes().to_vec() } else { Vec::new() };
                    assert_eq!(body, expected, "{cell:?}");
                    *number += 1;
                }
            }
        });
        assert_eq!(router.stats().drops.unreceived, 0, "{cell:?}");
    });
}

#[test]
fn while_too_many_notices_are_unread_no_more_peers_are_taken() {
    for transport in ["inproc", "tcp"] {
        let router = Router::with_options(&Context::new(), told(BOTH)).unwrap();
        let place = router.bind(&endpoint(transport)).unwrap().to_string();
        let context = Context::new();
        let come = || {
            let dealer = Dealer::with_options(&context, named("ann")).unwrap();
            dealer.connect(&place).unwrap();
            dealer
        };
        for _ in 0..COUNT_MAX / 2 {
            let dealer = come();
            assert!(dealer.wait_for_peers(1, LONG));
            until("it has come", || router.peer(b"ann").is_some());
            dealer.close();
            until("it is gone", || router.peer(b"ann").is_none());
        }
        assert_eq!(router.stats().refused_connections, 0, "{transport}: at the bound");
        let one_more = come();
        until("it is refused", || router.stats().refused_connections > 0);
        assert!(router.peers().is_empty(), "{transport}");
        for _ in 0..COUNT_MAX + 1 {
            assert_eq!(router.recv_timeout(LONG), Ok(frames(["ann", ""])), "{transport}");
        }
        assert_eq!(router.try_recv(), Err(RecvError::WouldBlock), "{transport}");
        assert!(one_more.wait_for_peers(1, LONG));
    }
}

#[test]
fn what_was_not_received_goes_with_the_socket() {
    check(|cell| {
        let router: Router = cell.open(told(BOTH));
        for _ in 0..2 {
            visit(&cell, &router, "x", &["unread"]);
            until("it is gone", || router.peers().is_empty());
        }
        let same = router.clone();
        router.close();
        assert_eq!(cell.try_to_recv(&same), Err(RecvError::Closed), "{cell:?}");
        assert_eq!(same.stats().drops.unreceived, 2, "{cell:?}");
    });
}
