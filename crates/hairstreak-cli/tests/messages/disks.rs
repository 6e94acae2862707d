//! A disk that is nearly full: publishers wait, consumers free space, and no confirmed message is lost.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use hairstreak_amqp::Event;
use hairstreak_testkit::until;
use hairstreak_wire::amqp::{FieldTable, FieldValue, Method, Properties, basic};

use crate::client::{Client, QUIET};
use crate::node::Place;
use crate::small_disk::{disk, run_on_disk};

const QUEUE: &str = "q";
/// Queue of the dead letters of the other one.
const DEAD: &str = "dead";
/// The disk has room for all segments up to the first one of 64 MiB, and for that one.
const DISK_SIZE: &str = "192m";
const FREE_LIMIT: u64 = 100_000_000;
const BODY_SIZE: usize = 100_000;
/// Messages on their way at a time.
const WINDOW: u64 = 20;
/// The largest number of runs of a test.
const RUNS_MAX: usize = 3;
/// A time limit that only a hanging test reaches.
const PATIENCE: Duration = Duration::from_secs(60);

/// A limit at which the log has its first file of 64 MiB, and has made the next one.
const LOW_FREE_LIMIT: u64 = 20_000_000;
/// Memory that the node may need more while consumers empty a full disk.
const MEMORY_GROWTH_MAX: u64 = 64 << 20;

/// A publisher with confirms.
struct Publisher {
    client: Client,
    /// The number of the first message of the connection is one more.
    base: u64,
    published: u64,
    confirmed: u64,
    is_blocked: bool,
}

impl Publisher {
    fn connect(amqp: &str, base: u64) -> Publisher {
        let mut client = Client::connect(amqp).unwrap();
        client.declare(DEAD, &FieldTable::new()).unwrap();
        let exchange = ("x-dead-letter-exchange", FieldValue::from(""));
        let key = ("x-dead-letter-routing-key", FieldValue::from(DEAD));
        client.declare(QUEUE, &[exchange, key].into_iter().collect()).unwrap();
        client.select_confirms().unwrap();
        Publisher { client, base, published: 0, confirmed: 0, is_blocked: false }
    }

    fn publish(&mut self) {
        self.published += 1;
        let mut body = format!("{} ", self.base + self.published).into_bytes();
        body.resize(BODY_SIZE, b'x');
        let properties = Properties { delivery_mode: Some(2), ..Properties::default() };
        self.client.publish_with("", QUEUE, &properties, &body);
    }

    /// Handles the next event, if one comes soon.
    fn look(&mut self) {
        match self.client.event(QUIET).unwrap() {
            Some(Event::Ack { delivery_tag, .. }) => self.confirmed = delivery_tag,
            Some(Event::Blocked(reason)) => {
                assert_eq!(reason, "low on disk");
                self.is_blocked = true;
            }
            Some(Event::Unblocked) => self.is_blocked = false,
            _ => {}
        }
    }

    /// Publishes until the node says that publishers wait. Returns the number of the last confirmed message.
    fn publish_until_blocked(&mut self) -> u64 {
        let start = Instant::now();
        while !self.is_blocked {
            assert!(start.elapsed() < PATIENCE, "{} messages are confirmed", self.confirmed);
            while self.published < self.confirmed + WINDOW {
                self.publish();
            }
            self.look();
        }
        self.base + self.confirmed
    }

    /// Waits until all messages are confirmed and the node takes more.
    fn await_all(&mut self) {
        let start = Instant::now();
        while self.is_blocked || self.confirmed < self.published {
            let (confirmed, published) = (self.confirmed, self.published);
            assert!(start.elapsed() < PATIENCE, "{confirmed} of {published}, blocked: {}", self.is_blocked);
            self.look();
        }
    }
}

/// Takes all messages of the queue, among them those that are confirmed.
fn drain(amqp: &str, taken: &mut BTreeSet<u64>) {
    let mut client = Client::connect(amqp).unwrap();
    taken.extend(client.drain(QUEUE).iter().map(|message| message.number));
}

/// Takes all messages of the queue, more than 500, and rejects each tenth of them. Returns the rejected ones.
fn drain_and_reject(amqp: &str, taken: &mut BTreeSet<u64>) -> BTreeSet<u64> {
    let mut client = Client::connect(amqp).unwrap();
    client.set_prefetch(20);
    client.consume(QUEUE).unwrap();
    let mut rejected = BTreeSet::new();
    let patience = |count| if count <= 560 { PATIENCE } else { QUIET };
    while let Some(message) = client.received(patience(taken.len() + rejected.len())).unwrap() {
        if message.number % 10 == 0 {
            let reject = basic::Reject { delivery_tag: message.delivery_tag, requeue: false };
            client.send(&Method::BasicReject(reject));
            rejected.insert(message.number);
        } else {
            client.ack(message.delivery_tag, false);
            taken.insert(message.number);
        }
    }
    // The answer comes behind the acknowledgements.
    client.set_prefetch(0);
    rejected
}

/// Runs a test of this file on a disk, if that is possible.
#[track_caller]
fn run(test: &str) {
    for run in 1..=RUNS_MAX {
        let (is_passed, said) = run_on_disk(test, DISK_SIZE);
        if said.contains("unshare: ") || said.contains("mount: ") {
            println!("skipped, because a disk cannot be mounted here: {said}");
            return;
        }
        if is_passed {
            return;
        }
        // The disk may be full before the log has kept a file back: messages on their way have taken the room.
        println!("run {run} of {test}: {said}");
        assert!(run < RUNS_MAX, "{said}");
    }
}

#[test]
fn publishers_wait_while_the_disk_is_nearly_full_and_consumers_free_it() {
    run("disks::on_a_small_disk");
}

#[test]
fn consumers_free_a_disk_that_others_have_filled_to_the_last_byte() {
    run("disks::on_a_disk_that_is_full");
}

/// In an ordinary run of the tests there is no disk, and the test does nothing.
#[test]
fn on_a_small_disk() {
    let Some(disk) = disk() else { return };
    let place = Place::at(disk.join("place"), &format!("disk_free_limit = {FREE_LIMIT}\n"));
    let mut taken = BTreeSet::new();
    let node = place.start();
    let mut publisher = Publisher::connect(&node.amqp, 0);
    for round in 0..2 {
        let confirmed = publisher.publish_until_blocked();
        println!("round {round}: {confirmed} messages are confirmed, {} bytes are free", place.free_bytes());
        assert!(place.free_bytes() > 0);
        drain(&node.amqp, &mut taken);
        publisher.await_all();
        assert!(place.free_bytes() >= FREE_LIMIT, "{} bytes are free", place.free_bytes());
    }
    // A node that is killed on the full disk starts there. The start may free files.
    let confirmed = publisher.publish_until_blocked();
    let mut expected: BTreeSet<u64> = (1..=confirmed).collect();
    node.kill();
    let node = place.start();
    // Another program fills the disk.
    place.fill(FREE_LIMIT / 2);
    let mut publisher = Publisher::connect(&node.amqp, publisher.base + publisher.published);
    let confirmed = publisher.publish_until_blocked();
    expected.extend(publisher.base + 1..=confirmed);
    node.kill();
    // Publishers wait from the start, whatever files the start frees.
    let filler = place.fill(FREE_LIMIT / 8);
    let node = place.start();
    let mut publisher = Publisher::connect(&node.amqp, publisher.base + publisher.published);
    publisher.publish_until_blocked();
    assert_eq!(publisher.confirmed, 0);
    fs::remove_file(filler).unwrap();
    drain(&node.amqp, &mut taken);
    publisher.await_all();
    drain(&node.amqp, &mut taken);
    expected.extend(publisher.base + 1..=publisher.base + publisher.published);
    let lost: Vec<_> = expected.difference(&taken).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    let end = node.stop();
    assert_eq!(end.status, Some(0));
    for line in [
        "are less than two files of messages",
        "free bytes (disk_free_limit); publishers wait",
        "messages: the disk has enough free space again",
    ] {
        assert!(end.errors.contains(line), "{line}: {}", end.errors);
    }
}

/// In an ordinary run of the tests there is no disk, and the test does nothing.
#[test]
fn on_a_disk_that_is_full() {
    let Some(disk) = disk() else { return };
    let place = Place::at(disk.join("place"), &format!("disk_free_limit = {LOW_FREE_LIMIT}\n"));
    let node = place.start();
    let mut publisher = Publisher::connect(&node.amqp, 0);
    publisher.publish_until_blocked();
    // Another program takes each free byte. Some messages of the publisher are still on their way.
    let filler = place.fill(0);
    let memory = node.peak_memory();
    let mut taken = BTreeSet::new();
    let rejected = drain_and_reject(&node.amqp, &mut taken);
    assert!(taken.len() > 500 && rejected.len() > 50, "{} and {} messages", taken.len(), rejected.len());
    until("space is free", || place.free_bytes() > LOW_FREE_LIMIT);
    let growth = node.peak_memory() - memory;
    assert!(growth < MEMORY_GROWTH_MAX, "the memory has grown by {growth} bytes");
    fs::remove_file(filler).unwrap();
    publisher.await_all();
    drain(&node.amqp, &mut taken);
    node.kill();
    // All letters are in their queue, and no message that was taken before the disk had space is there again.
    let node = place.start();
    let mut again = BTreeSet::new();
    drain(&node.amqp, &mut again);
    assert!(again.is_subset(&taken) && again.iter().all(|number| !rejected.contains(number)));
    let mut client = Client::connect(&node.amqp).unwrap();
    let letters: BTreeSet<u64> =
        client.drain_at_least(DEAD, rejected.len()).iter().map(|message| message.number).collect();
    assert_eq!(letters, rejected);
    taken.extend(letters);
    assert!(taken.into_iter().eq(1..=publisher.published));
    assert_eq!(node.stop().status, Some(0));
}
