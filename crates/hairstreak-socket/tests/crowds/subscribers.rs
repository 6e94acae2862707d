//! A publisher and its crowd of subscribers, one of them slow, and one that never reads: each copy of a message is
//! received, or counted as dropped for its reason.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hairstreak_socket::{Context, Drops, Options, Pub, RecvError, Sub};
use hairstreak_testkit::{until, until_eq};

use crate::LONG;
use crate::crowd::{TRANSPORTS, alone, options, scheme, size};
use crate::endpoints::endpoint;
use crate::memory::resident_bytes;
use crate::raw::{Raw, frame};

const MARK: usize = 32;
const BODY_SIZE: usize = 16_000;
const COUNT_MIN: u64 = 500;
/// Messages that each peer that does not read misses at least.
const DROPS_MIN: u64 = 50;
/// What every subscriber may cost, kernel buffers aside: the marks of both ends, and what is read in one go.
const MEMORY_EACH: usize = MARK * BODY_SIZE + (1 << 20);

/// Takes what is there now, in order and without a repetition. Returns how many.
fn take(subscriber: &Sub, last: &mut Option<u64>) -> u64 {
    let mut count = 0;
    loop {
        match subscriber.try_recv() {
            Ok(message) => {
                let number = u64::from_le_bytes(message.body()[..8].try_into().unwrap());
                assert!(last.replace(number) < Some(number), "{number} out of order");
                count += 1;
            }
            Err(RecvError::WouldBlock) => return count,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Messages each of the subscribers got. The first, which is slow, takes its first when all is sent.
fn read(subscribers: &[Sub], all_sent: &AtomicBool, expected: impl Fn() -> u64) -> Vec<u64> {
    let mut counts = vec![0; subscribers.len()];
    let mut last = vec![None; subscribers.len()];
    let mut take_from = |from: usize, counts: &mut [u64]| {
        for at in from..subscribers.len() {
            counts[at] += take(&subscribers[at], &mut last[at]);
        }
    };
    while !all_sent.load(Ordering::Acquire) {
        take_from(1, &mut counts);
    }
    let expected = expected();
    until("all is received", || {
        take_from(0, &mut counts);
        counts.iter().sum::<u64>() >= expected
    });
    counts
}

/// A peer that subscribes to everything and reads nothing of it, if it can be had over this transport.
fn stubborn(publisher: &Pub, transport: &str, place: &str) -> Option<Raw> {
    if !["tcp", "ipc", "ipc without shm"].contains(&transport) {
        return None;
    }
    let mut raw = Raw::ready(place, "SUB");
    raw.send(&frame(0, b"\x01"));
    assert!(publisher.wait_for_subscribers(1, LONG));
    Some(raw)
}

fn check(transport: &str) {
    let marks = Options { send_count_max: MARK, ..options(transport) };
    let publisher = Pub::with_options(&Context::new(), marks).unwrap();
    let place = publisher.bind(&endpoint(scheme(transport))).unwrap().to_string();
    // It is the publisher's first peer.
    let stubborn = stubborn(&publisher, transport, &place);
    let strangers = usize::from(stubborn.is_some());
    let context = Context::new();
    let subscribers: Vec<Sub> = (0..size())
        .map(|number| {
            let receive_count_max = if number == 0 { 1 } else { MARK };
            let subscriber =
                Sub::with_options(&context, Options { receive_count_max, ..options(transport) }).unwrap();
            subscriber.subscribe("").unwrap();
            subscriber.connect(&place).unwrap();
            subscriber
        })
        .collect();
    assert!(publisher.wait_for_subscribers(size() + strangers, LONG), "{transport}: {:?}", publisher.stats());
    assert!(subscribers.iter().all(|subscriber| subscriber.wait_for_peers(1, LONG)));
    let mut count = 0;
    let before = resident_bytes();
    let all_sent = AtomicBool::new(false);
    let accepted = || publisher.peers()[strangers..].iter().map(|peer| peer.sent).sum();
    let received = thread::scope(|scope| {
        let reader = scope.spawn(|| read(&subscribers, &all_sent, accepted));
        let mut body = vec![7; BODY_SIZE];
        let missed = || publisher.peers().iter().filter(|peer| peer.drops.newest >= DROPS_MIN).count();
        while count < COUNT_MIN || missed() <= strangers {
            body[..8].copy_from_slice(&count.to_le_bytes());
            publisher.send_timeout(&body, LONG).unwrap();
            count += 1;
            let stats = publisher.stats();
            assert!(stats.queued_count <= MARK * (size() + strangers), "{transport}: {stats:?}");
        }
        publisher.flush();
        all_sent.store(true, Ordering::Release);
        reader.join().unwrap()
    });
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown <= MEMORY_EACH * (size() + strangers), "{transport}: {grown} bytes more than before");

    let peers = publisher.peers();
    for peer in &peers {
        assert_eq!(peer.drops, Drops { newest: count - peer.sent, ..Drops::default() }, "{transport}");
    }
    let mut accepted: Vec<u64> = peers[strangers..].iter().map(|peer| peer.sent).collect();
    let mut received = received;
    accepted.sort_unstable();
    received.sort_unstable();
    assert_eq!(received, accepted, "{transport}");
    let drops = publisher.stats().drops;
    let copies = count * (size() + strangers) as u64;
    let sent: u64 = peers.iter().map(|peer| peer.sent).sum();
    assert_eq!((publisher.stats().sent, sent + drops.newest), (count, copies), "{transport}");

    let stuck = peers.first().map_or(0, |peer| peer.queued_count as u64);
    drop(stubborn);
    until_eq("peers", size(), || publisher.peers().len());
    let peer_lost = if strangers > 0 { stuck } else { 0 };
    assert_eq!(publisher.stats().drops, Drops { peer_lost, ..drops }, "{transport}");
    subscribers.iter().for_each(|subscriber| assert_eq!(subscriber.stats().drops, Drops::default()));
    println!("{transport}: {copies} copies, {drops:?}, {peer_lost} lost, {grown} bytes");
}

#[test]
fn every_copy_for_a_crowd_is_received_or_counted_as_dropped() {
    let _alone = alone();
    TRANSPORTS.into_iter().for_each(check);
}
