//! PUSH and PULL.

use std::thread;
use std::time::Duration;

use hairstreak_socket::{Distribution, Options, Pull, Push, RecvError};
use hairstreak_testkit::until;

use crate::cell::check;
use crate::shapes::shapes;

#[test]
fn messages_of_every_shape_arrive_whole_and_in_order() {
    check(|cell| {
        let (push, pull): (Push, Pull) = cell.pair();
        for message in shapes() {
            cell.send(&push, &message);
            assert_eq!(cell.recv(&pull), message, "{cell:?}");
        }
        assert_eq!((push.stats().sent, pull.stats().received), (42, 42));
        assert_eq!((push.peers()[0].sent, pull.peers()[0].received), (42, 42));
    });
}

#[test]
fn messages_go_round_and_are_taken_fairly() {
    check(|cell| {
        let pushes: [Push; 2] = [(); 2].map(|()| cell.open(Options::default()));
        let pulls: [Pull; 3] = [(); 3].map(|()| cell.open(Options::default()));
        pushes.iter().for_each(|push| pulls.iter().for_each(|pull| cell.join(push, pull)));
        for push in &pushes {
            (0..30).for_each(|_| cell.send(push, "x"));
        }
        for pull in &pulls {
            (0..20).for_each(|_| assert_eq!(cell.recv_text(pull), "x"));
        }
    });
}

#[test]
fn who_looks_before_sleeping_gets_every_message_and_keeps_deadlines() {
    look_before_sleeping(&Options { spin_us: 2000, ..Options::default() });
}

#[test]
fn who_yields_before_sleeping_gets_every_message_and_keeps_deadlines() {
    look_before_sleeping(&Options { yield_us: 2000, ..Options::default() });
}

fn look_before_sleeping(options: &Options) {
    check(|cell| {
        let (there, near): (Push, Pull) = (cell.open(options.clone()), cell.open(options.clone()));
        let (back, home): (Push, Pull) = (cell.open(options.clone()), cell.open(options.clone()));
        cell.join(&there, &near);
        cell.join(&back, &home);
        assert_eq!(home.recv_timeout(Duration::from_micros(300)), Err(RecvError::TimedOut));
        assert_eq!(home.recv_timeout(Duration::from_millis(5)), Err(RecvError::TimedOut));
        thread::scope(|scope| {
            scope.spawn(|| (0..50).for_each(|_| cell.send(&back, &cell.recv(&near))));
            for number in 0..50 {
                cell.send(&there, &number.to_string());
                assert_eq!(cell.recv_text(&home), number.to_string(), "{cell:?}");
            }
        });
        // A peer that leaves is noticed by who looks, too.
        drop((there, back));
        until("the peers are gone", || {
            let result = home.recv_timeout(Duration::from_millis(1));
            assert_eq!(result, Err(RecvError::TimedOut));
            home.peers().is_empty() && near.peers().is_empty()
        });
    });
}

#[test]
fn every_pull_gets_a_copy_when_asked_for() {
    check(|cell| {
        let push: Push = cell.open(Options { distribution: Distribution::All, ..Options::default() });
        cell.send(&push, "nobody");
        let pulls: [Pull; 2] = [(); 2].map(|()| cell.open(Options::default()));
        pulls.iter().for_each(|pull| cell.join(&push, pull));
        for message in shapes() {
            cell.send(&push, &message);
            pulls.iter().for_each(|pull| assert_eq!(cell.recv(pull), message));
        }
        let stats = push.stats();
        assert_eq!((stats.sent, stats.drops.no_peer), (43, 1));
    });
}

#[test]
fn each_message_is_counted_for_its_peer_whatever_way_it_goes() {
    check(|cell| {
        let (push, pull): (Push, Pull) = cell.pair();
        for size in [0, 62, 255, 8192, 8193, 100_000] {
            let body = vec![7; size];
            cell.send(&push, &body);
            assert_eq!(cell.recv(&pull).body(), body, "{cell:?}");
        }
        assert_eq!((push.peers()[0].sent, pull.peers()[0].received), (6, 6), "{cell:?}");
    });
}
