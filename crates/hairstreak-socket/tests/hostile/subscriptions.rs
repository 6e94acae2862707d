//! Subscribers that misbehave: floods of subscriptions, long ones, cancellations of what is not there. The
//! publisher's memory stays bounded, who breaks a limit is told which, and a good subscriber misses nothing.

use std::thread;

use hairstreak_socket::{Context, Options, Overflow, Pub, Publishes, Socket, Sub, XPub};
use hairstreak_testkit::{until_at_least, until_eq};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::memory::resident_bytes;
use crate::raw::{COMMAND, MORE, Raw, command, frame};
use crate::siege::{MEMORY_MAX, alone};

/// Messages that the good subscriber gets during an attack.
const GOOD_COUNT: u64 = 500;

fn options() -> Options {
    Options {
        subscription_count_max: 1000,
        subscription_size_max: 500,
        subscription_bytes_max: 100_000,
        ..Options::default()
    }
}

/// Attacks a publisher over tcp and ipc while a good subscriber is served. `attack` runs in a thread of its
/// own and returns its connections, and how many of them had to be refused.
fn besiege<P: hairstreak_socket::Pattern, C: Send>(
    options: &Options,
    attack: impl Fn(&str) -> (C, u64) + Sync,
) where
    Socket<P>: Publisher,
{
    let _alone = alone();
    for transport in ["tcp", "ipc"] {
        let publisher: Socket<P> = Socket::with_options(&Context::new(), options.clone()).unwrap();
        let place = publisher.bind(&endpoint(transport)).unwrap().to_string();
        let good = Sub::new(&Context::new()).unwrap();
        good.subscribe("good").unwrap();
        good.connect(&place).unwrap();
        publisher.wait_for_good();
        let mut served = 0;
        let mut serve = || {
            let body = format!("good {served}");
            publisher.publish(&body);
            assert_eq!(good.recv_timeout(LONG).unwrap().body(), body.as_bytes(), "{place}");
            served += 1;
        };
        let before = resident_bytes();
        thread::scope(|scope| {
            let attacker = scope.spawn(|| attack(&place));
            while !attacker.is_finished() {
                serve();
            }
            (0..GOOD_COUNT).for_each(|_| serve());
            let (connections, refused) = attacker.join().unwrap();
            until_at_least("failed connections", refused, || {
                serve();
                publisher.stats().failed_connections
            });
            let grown = resident_bytes().saturating_sub(before);
            assert!(grown <= MEMORY_MAX, "{place}: {grown} bytes more than before");
            drop(connections);
        });
        until_eq("peers", 1, || {
            publisher.catch_up();
            serve();
            publisher.peers().len()
        });
        assert_eq!(publisher.peers()[0].subscription_count, 1, "nothing of the others is left");
    }
}

trait Publisher {
    fn publish(&self, body: &str);
    fn wait_for_good(&self);
    /// Receives what there is to be received.
    fn catch_up(&self);
}

impl Publisher for Pub {
    fn publish(&self, body: &str) {
        publish(self, body);
    }

    fn wait_for_good(&self) {
        assert!(self.wait_for_subscribers_to("good", 1, LONG));
    }

    fn catch_up(&self) {}
}

impl Publisher for XPub {
    fn publish(&self, body: &str) {
        publish(self, body);
    }

    fn wait_for_good(&self) {
        assert!(self.wait_for_subscribers_to("good", 1, LONG));
    }

    fn catch_up(&self) {
        while self.try_recv().is_ok() {}
    }
}

fn publish<P: Publishes>(publisher: &Socket<P>, body: &str) {
    publisher.send_timeout(body, LONG).unwrap();
    publisher.flush();
}

type PubPattern = hairstreak_socket::pubsub::PubPattern;
type XPubPattern = hairstreak_socket::pubsub::XPubPattern;

fn subscribe(prefix: &[u8]) -> Vec<u8> {
    command("SUBSCRIBE", prefix)
}

fn cancel(prefix: &[u8]) -> Vec<u8> {
    command("CANCEL", prefix)
}

/// Subscriptions to `count` prefixes from `first` on, as commands or as messages.
fn flood(first: usize, count: usize, as_messages: bool) -> Vec<u8> {
    let prefixes = (first..first + count).map(|number| number.to_string().into_bytes());
    prefixes
        .flat_map(|prefix| match as_messages {
            true => frame(0, &[&[1], &prefix[..]].concat()),
            false => subscribe(&prefix),
        })
        .collect()
}

/// The reason of the ERROR with which the peer ended the connection.
fn reason(mut raw: Raw) -> String {
    let said = raw.wait_for_end();
    let at = said.windows(6).position(|window| window == b"\x05ERROR");
    let at = at.unwrap_or_else(|| panic!("no ERROR in {:?}", said.escape_ascii().to_string()));
    assert!(at >= 2 && said[at - 2] == COMMAND, "a command of its own");
    String::from_utf8(said[at + 7..].to_vec()).unwrap()
}

#[test]
fn one_subscription_too_many_is_refused_by_name() {
    besiege::<PubPattern, _>(&options(), |place| {
        for as_messages in [false, true] {
            let mut raw = Raw::ready(place, "SUB");
            raw.send(&flood(0, 1000, as_messages));
            // The same again is counted and costs nothing.
            raw.send(&flood(0, 1000, as_messages));
            raw.send(&cancel(b"999"));
            raw.send(&flood(999, 1, as_messages));
            raw.send(&frame(0, b"no subscription"));
            raw.send(&flood(1000, 1, as_messages));
            // CANCEL took one of two.
            assert!(reason(raw).contains("more than 1000 subscriptions (subscription_count_max)"));
        }
        ((), 2)
    });
}

#[test]
fn subscriptions_that_are_too_long_are_refused_by_name() {
    besiege::<PubPattern, _>(&options(), |place| {
        let mut long = Raw::ready(place, "SUB");
        long.send(&subscribe(&[b'x'; 500]));
        long.send(&subscribe(&[b'x'; 501]));
        assert!(reason(long).contains("subscription to more than 500 bytes (subscription_size_max)"));
        let mut much = Raw::ready(place, "SUB");
        (0..201u32).for_each(|number| {
            much.send(&subscribe(&[&number.to_be_bytes()[..], &[b'x'; 496]].concat()));
        });
        assert!(reason(much).contains("more than 100000 bytes together (subscription_bytes_max)"));
        for size in [10_000, 60_000, 100_000] {
            let mut huge = Raw::ready(place, "SUB");
            huge.send(&subscribe(&vec![b'x'; size]));
            reason(huge);
        }
        ((), 5)
    });
}

#[test]
fn a_flood_of_subscriptions_without_end_is_refused() {
    besiege::<PubPattern, _>(&options(), |place| {
        for _ in 0..5 {
            let mut raw = Raw::ready(place, "SUB");
            raw.send(&flood(0, 200_000, false));
            raw.wait_for_end();
        }
        ((), 5)
    });
}

#[test]
fn cancellations_of_what_is_not_there_do_nothing() {
    besiege::<PubPattern, _>(&options(), |place| {
        let mut raw = Raw::ready(place, "SUB");
        raw.send(&subscribe(b"mine"));
        let cancels = [cancel(b"good"), cancel(b""), cancel(b"m"), frame(0, b"\0goo")].concat().repeat(5000);
        (0..20).for_each(|_| raw.send(&cancels));
        (raw, 0)
    });
}

#[test]
fn an_xpub_that_never_receives_keeps_no_more_than_its_limit() {
    besiege::<XPubPattern, _>(&Options { receive_count_max: 100, ..options() }, |place| {
        let changes: Vec<u8> = (0..1000u32)
            .flat_map(|number| {
                let prefix = number.to_be_bytes();
                [subscribe(&prefix), cancel(&prefix)].concat()
            })
            .collect();
        let raws: Vec<Raw> = (0..4)
            .map(|_| {
                let mut raw = Raw::ready(place, "SUB");
                raw.send_until_stuck(&changes, 16 << 20);
                raw
            })
            .collect();
        (raws, 0)
    });
}

#[test]
fn a_subscription_between_the_frames_of_a_message_is_refused() {
    besiege::<PubPattern, _>(&options(), |place| {
        let mut raw = Raw::ready(place, "XSUB");
        raw.send(&[frame(MORE, b"first"), subscribe(b"x"), frame(0, b"last")].concat());
        assert!(reason(raw).contains("between the frames"));
        ((), 1)
    });
}

#[test]
fn subscribers_that_come_and_go_leave_nothing_behind() {
    besiege::<PubPattern, _>(&options(), |place| {
        for round in 0..300 {
            let mut raw = Raw::ready(place, if round % 2 == 0 { "SUB" } else { "XSUB" });
            raw.send(&flood(round, 500, round % 3 == 0));
        }
        ((), 0)
    });
}

#[test]
fn long_prefixes_that_share_much_cost_what_they_are_charged() {
    let options = Options { subscription_size_max: 4096, ..options() };
    besiege::<PubPattern, _>(&options, |place| {
        let long = vec![b'x'; 4096];
        let mut raw = Raw::ready(place, "SUB");
        raw.send(&subscribe(&long));
        let toggles: Vec<u8> = (1..4096)
            .step_by(64)
            .flat_map(|size| [subscribe(&long[..size]), cancel(&long[..size])].concat())
            .collect();
        (0..50).for_each(|_| raw.send(&toggles));
        (raw, 0)
    });
}

#[test]
fn what_a_publisher_sends_unasked_is_dropped_and_counted() {
    let _alone = alone();
    for transport in ["tcp", "ipc"] {
        let sub = Sub::new(&Context::new()).unwrap();
        let place = sub.bind(&endpoint(transport)).unwrap().to_string();
        sub.subscribe("good").unwrap();
        let good = Pub::new(&Context::new()).unwrap();
        good.connect(&place).unwrap();
        assert!(good.wait_for_subscribers(1, LONG));
        let unasked = frame(0, b"bad").repeat(20_000);
        thread::scope(|scope| {
            let attacker = scope.spawn(|| {
                let mut raw = Raw::ready(&place, "PUB");
                (0..20).for_each(|_| raw.send(&unasked));
                raw.end();
                raw.wait_for_end();
            });
            let mut served = 0;
            let mut serve = || {
                good.send_timeout("good", LONG).unwrap();
                good.flush();
                assert_eq!(sub.recv_timeout(LONG).unwrap().body(), b"good");
                served += 1;
                served
            };
            while serve() < GOOD_COUNT || !attacker.is_finished() {}
            attacker.join().unwrap();
            // What was read ahead while this thread was kept from receiving is dropped by the next receives.
            until_at_least("unexpected messages", 400_000, || {
                serve();
                sub.stats().drops.unexpected
            });
            assert_eq!((sub.stats().received, sub.stats().drops.unexpected), (served, 400_000));
        });
    }
}

#[test]
fn peers_of_a_publisher_that_does_not_receive_are_answered_and_missed_when_they_go() {
    let options =
        Options { receive_count_max: 10, connections_max: 3, overflow: Some(Overflow::Block), ..options() };
    for transport in ["tcp", "ipc"] {
        let publisher = XPub::with_options(&Context::new(), options.clone()).unwrap();
        let place = publisher.bind(&endpoint(transport)).unwrap().to_string();
        let mut stays = Raw::ready(&place, "SUB");
        stays.send(&flood(0, 15, false));
        assert!(publisher.wait_for_subscribers_to("9", 1, LONG));
        stays.send(&command("PING", b"\0\0again"));
        let pong = command("PONG", b"again");
        assert_eq!(stays.read_exactly(pong.len()), pong, "{place}");
        for number in 0..10 {
            let mut goes = Raw::ready(&place, "SUB");
            goes.send(&flood(100 * number, 50, number % 2 == 0));
            drop(goes);
            until_eq("peers", 1, || publisher.peers().len());
        }
        assert_eq!(publisher.stats().refused_connections, 0);
        assert_eq!(publisher.peers()[0].subscription_count, 10, "the rest has no effect yet");
        (0..15).for_each(|number| {
            let wanted = format!("\x01{number}");
            assert_eq!(publisher.recv_timeout(LONG).unwrap().body(), wanted.as_bytes());
        });
        assert_eq!(publisher.peers()[0].subscription_count, 15);
    }
}
