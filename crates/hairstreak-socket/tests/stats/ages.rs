//! The age of the oldest message that waits: never too high, and not much too low.

use std::time::{Duration, Instant};

use hairstreak_socket::{Context, Options, Overflow, Pull, Push};

use crate::endpoints::endpoint;
use crate::{LONG, until};

const TRANSPORTS: [&str; 4] = ["tcp", "ipc", "shm", "inproc"];

/// A sender of large messages to a peer that takes next to nothing by itself.
fn pair(transport: &str, overflow: Option<Overflow>) -> (Push, Pull) {
    let few = Options { receive_count_max: 1, receive_bytes_max: 1, ..Options::default() };
    let pull = Pull::with_options(&Context::new(), few).unwrap();
    let place = pull.bind(&endpoint(transport)).unwrap().to_string();
    let push = Push::with_options(&Context::new(), Options { overflow, ..Options::default() }).unwrap();
    push.connect(&place).unwrap();
    assert!(push.wait_for_peers(1, LONG));
    (push, pull)
}

/// Sends until there is no more room.
fn fill(push: &Push) {
    while push.send_timeout(&[7; 50_000], Duration::from_millis(1)).is_ok() {}
}

/// Lets the time pass; nothing comes here.
fn pass(time: Duration) {
    let nobody = Pull::new(&Context::new()).unwrap();
    assert!(nobody.recv_timeout(time).is_err());
}

#[test]
fn the_age_of_what_is_not_taken_grows_and_ends_when_it_is() {
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport, None);
        let start = Instant::now();
        assert_eq!(push.stats().queued_age, Duration::ZERO);
        fill(&push);
        let mut last = Duration::ZERO;
        until("the messages get old", || {
            let age = push.stats().queued_age;
            assert!(age <= start.elapsed(), "{transport}: {age:?} is older than the first message");
            assert!(age >= last, "{transport}: nothing was taken, so it cannot get younger");
            last = age;
            age >= Duration::from_millis(200)
        });
        let peer = &push.peers()[0];
        assert!(peer.queued_age >= last && peer.queued_count > 0);
        until("all is taken", || {
            while pull.try_recv().is_ok() {}
            push.stats().queued_count == 0
        });
        assert_eq!((push.stats().queued_age, push.peers()[0].queued_age), Default::default());
    }
}

#[test]
fn what_nobody_looked_at_has_its_age_all_the_same() {
    const TIME: Duration = Duration::from_millis(500);
    for transport in TRANSPORTS {
        // Whoever notes the time may have been kept from it for as long by a busy machine, but not each time.
        let is_known = (0..20).any(|_| {
            let (push, _pull) = pair(transport, None);
            fill(&push);
            pass(TIME);
            push.stats().queued_age >= TIME / 2
        });
        assert!(is_known, "{transport}");
    }
}

#[test]
fn messages_that_go_and_come_are_only_as_old_as_the_oldest_of_them() {
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport, None);
        for _ in 0..100 {
            let start = Instant::now();
            push.send_timeout(b"x", LONG).unwrap();
            push.flush();
            pull.recv_timeout(LONG).unwrap();
            // An inproc peer tells what it took when it looks for more.
            assert!(pull.try_recv().is_err());
            assert!(push.stats().queued_age <= start.elapsed(), "{transport}");
        }
    }
}

#[test]
fn what_cannot_be_dropped_any_more_has_an_age() {
    for transport in TRANSPORTS {
        let (push, _pull) = pair(transport, Some(Overflow::DropOldest));
        let start = Instant::now();
        while push.stats().drops.oldest == 0 {
            push.send_timeout(&[7; 50_000], LONG).unwrap();
        }
        until("they get old", || {
            let age = push.stats().queued_age;
            assert!(age <= start.elapsed());
            age >= Duration::from_millis(100)
        });
    }
}
