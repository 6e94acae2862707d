//! The age of the oldest message that waits, for a peer or for the application: never too high, and not much too low.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use hairstreak_socket::{Context, Interest, Options, Overflow, Poller, Pull, Push};
use hairstreak_testkit::{until, until_eq};

use crate::LONG;
use crate::endpoints::endpoint;

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

/// A sender and a receiver with the usual marks.
fn usual(transport: &str) -> (Push, Pull) {
    let (push, pull) = (Push::new(&Context::new()).unwrap(), Pull::new(&Context::new()).unwrap());
    push.connect(&pull.bind(&endpoint(transport)).unwrap().to_string()).unwrap();
    assert!(push.wait_for_peers(1, LONG) && pull.wait_for_peers(1, LONG));
    (push, pull)
}

#[test]
fn the_age_of_what_is_not_received_grows_and_ends_when_it_is() {
    for transport in TRANSPORTS {
        let (push, pull) = usual(transport);
        assert_eq!(pull.stats().waiting_age, Duration::ZERO);
        let start = Instant::now();
        (0..10).for_each(|_| push.send_timeout("x", LONG).unwrap());
        push.flush();
        let mut last = Duration::ZERO;
        until("the messages get old", || {
            let age = pull.stats().waiting_age;
            assert!(age <= start.elapsed(), "{transport}: {age:?} is older than the first message");
            assert!(age >= last, "{transport}: nothing was received, so it cannot get younger");
            last = age;
            age >= Duration::from_millis(200)
        });
        assert!(pull.peers()[0].waiting_age >= last, "{transport}");
        for _ in 0..10 {
            until("what is left has an age", || pull.stats().waiting_age > Duration::ZERO);
            pull.recv_timeout(LONG).unwrap();
        }
        assert_eq!(
            (pull.stats().waiting_age, pull.peers()[0].waiting_age),
            Default::default(),
            "{transport}"
        );
        // Younger ones are younger.
        let start = Instant::now();
        push.send_timeout("x", LONG).unwrap();
        push.flush();
        until("it is here", || pull.stats().waiting_age > Duration::ZERO);
        assert!(pull.stats().waiting_age <= start.elapsed(), "{transport}");
    }
}

#[test]
fn what_lies_in_the_read_buffer_has_its_age_though_nobody_looked() {
    const TIME: Duration = Duration::from_millis(500);
    for transport in ["tcp", "ipc", "shm"] {
        // Whoever notes the time may have been kept from it for as long by a busy machine, but not each time.
        let is_known = (0..20).any(|_| {
            let (push, pull) = usual(transport);
            (0..100).for_each(|_| push.send_timeout("x", LONG).unwrap());
            push.flush();
            // The others came with it, and nothing comes any more.
            pull.recv_timeout(LONG).unwrap();
            pass(TIME);
            pull.stats().waiting_age >= TIME / 2
        });
        assert!(is_known, "{transport}");
    }
}

#[test]
fn what_has_not_come_whole_does_not_wait() {
    let (push, pull) = usual("tcp");
    push.send_timeout("whole", LONG).unwrap();
    push.flush();
    pull.recv_timeout(LONG).unwrap();
    let place = pull.peers()[0].endpoint.clone();
    let mut raw = TcpStream::connect(place.strip_prefix("tcp://").unwrap()).unwrap();
    // The greeting and READY of a PUSH, then the first half of a message; and the first frame of another.
    let mut greeting = [0; 64];
    (greeting[0], greeting[9], greeting[10], greeting[11]) = (0xff, 0x7f, 3, 1);
    greeting[12..16].copy_from_slice(b"NULL");
    let ready = b"\x04\x1a\x05READY\x0bSocket-Type\0\0\0\x04PUSH";
    let (first_frame, half) = (b"\x01\x05first", b"\0\x0atoo l");
    let bytes = [&greeting[..], ready, first_frame, half].concat();
    let all = pull.stats().received_bytes + bytes.len() as u64;
    raw.write_all(&bytes).unwrap();
    assert!(pull.wait_for_peers(2, LONG));
    until_eq("received bytes", all, || pull.stats().received_bytes);
    pass(Duration::from_millis(50));
    assert_eq!(pull.stats().waiting_age, Duration::ZERO);
    raw.write_all(b"ong!!").unwrap();
    until("it is whole", || pull.stats().waiting_age > Duration::ZERO);
    let message = pull.recv_timeout(LONG).unwrap();
    assert_eq!(message.frames().collect::<Vec<_>>(), [&b"first"[..], b"too long!!"]);
    assert_eq!(pull.stats().waiting_age, Duration::ZERO);
}

#[test]
fn what_a_poller_has_found_and_nobody_received_has_an_age() {
    for transport in TRANSPORTS {
        let (push, pull) = usual(transport);
        let mut poller = Poller::new().unwrap();
        poller.add(&pull, 0, Interest::READABLE).unwrap();
        let start = Instant::now();
        push.send_timeout("x", LONG).unwrap();
        push.flush();
        let mut ready = Vec::new();
        until("it is found", || {
            poller.wait(&mut ready).unwrap();
            !ready.is_empty()
        });
        until("it gets old", || {
            let age = pull.stats().waiting_age;
            assert!(age <= start.elapsed(), "{transport}");
            age >= Duration::from_millis(50)
        });
        pull.recv_timeout(LONG).unwrap();
        assert_eq!(pull.stats().waiting_age, Duration::ZERO, "{transport}");
    }
}
