//! kill -9 of the node while clients publish and consume: each confirmed message was consumed or is still queued.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use hairstreak_amqp::{ClientError, Event};
use hairstreak_testkit::{Rng, rng};
use hairstreak_wire::amqp::FieldTable;

use crate::client::{Client, QUIET, Received};
use crate::node::Place;
use crate::soak::amount;

const QUEUE: &str = "orders";
/// A time limit that only a hanging node reaches.
const PATIENCE: Duration = Duration::from_secs(60);

/// The messages of all rounds.
#[derive(Default)]
struct Ledger {
    next: u64,
    confirmed: BTreeSet<u64>,
    received: BTreeSet<u64>,
    /// Messages that came again.
    again_count: usize,
}

#[test]
fn what_was_confirmed_survives_kill_9() {
    let mut rng = rng();
    let place = Place::new("message-kills");
    let mut ledger = Ledger::default();
    let mut node = place.start();
    for round in 0..amount(10, 1_000) {
        let seeds = [rng.u64(..), rng.u64(..)];
        let life = Duration::from_millis(rng.u64(20..400));
        let amqp = node.amqp.clone();
        let (published, received) = thread::scope(|scope| {
            let first = ledger.next;
            let amqp = &amqp;
            let producer = scope.spawn(move || publish(amqp, first, Rng::with_seed(seeds[0])));
            let consumer = scope.spawn(move || consume(amqp, Rng::with_seed(seeds[1])));
            wait(life);
            node.kill();
            (producer.join().unwrap(), consumer.join().unwrap())
        });
        println!("round {round}: {} confirmed, {} received", published.confirmed.len(), received.len());
        ledger.note(published, &received);
        if rng.u8(..4) == 0 {
            // The next process dies while it starts.
            let starting = place.begin();
            wait(Duration::from_micros(rng.u64(..100_000)));
            drop(starting);
        }
        node = place.start();
    }
    let mut client = Client::connect(&node.amqp).unwrap();
    let rest = client.drain(QUEUE);
    ledger.note(Published::default(), &rest);
    let lost: Vec<_> = ledger.confirmed.difference(&ledger.received).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    assert!(ledger.confirmed.len() > 100, "{} messages were confirmed", ledger.confirmed.len());
    println!("{} confirmed, {} came again", ledger.confirmed.len(), ledger.again_count);
    drop(client);
    assert_eq!(node.stop().status, Some(0));
}

/// The arguments of a quorum queue whose messages may return once.
fn quorum() -> FieldTable {
    let mut arguments = FieldTable::new();
    arguments.insert("x-queue-type", "quorum");
    arguments.insert("x-delivery-limit", 1_i64);
    arguments
}

/// The consumers have 10 of 5,000 messages when the node dies: what they have seen comes again with the mark, and the backlog without.
#[test]
fn a_kill_marks_what_may_have_been_delivered_and_not_the_backlog() {
    const COUNT: u64 = 5_000;
    /// The messages of the first lease, and some.
    const MARKED_MAX: u64 = 200;
    let place = Place::new("message-kill-marks");
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    for (queue, arguments) in [("classic", FieldTable::new()), ("quorum", quorum())] {
        client.declare(queue, &arguments).unwrap();
    }
    client.select_confirms().unwrap();
    let mut rng = rng();
    for number in 1..=COUNT {
        client.publish("classic", number, &mut rng);
        client.publish("quorum", number, &mut rng);
    }
    client.await_confirms(2 * COUNT);
    for queue in ["classic", "quorum"] {
        let mut client = Client::connect(&node.amqp).unwrap();
        client.set_prefetch(10);
        client.consume(queue).unwrap();
        for number in 1..=10 {
            let message = client.received(PATIENCE).unwrap().unwrap();
            assert_eq!((message.number, message.is_redelivered), (number, false));
        }
        client.ack(3, false);
        assert_eq!(client.received(PATIENCE).unwrap().map(|message| message.number), Some(11));
    }
    node.kill();
    let node = place.start();
    for queue in ["classic", "quorum"] {
        let mut client = Client::connect(&node.amqp).unwrap();
        let received = client.drain(queue);
        let numbers: BTreeSet<u64> = received.iter().map(|message| message.number).collect();
        let missing: Vec<u64> = (1..=COUNT).filter(|number| !numbers.contains(number)).collect();
        assert!(missing.is_empty() || missing == [3], "{queue}: {missing:?}");
        for message in received {
            assert!(message.is_redelivered || message.number > 11, "{queue}: {message:?}");
            assert!(!message.is_redelivered || message.number <= MARKED_MAX, "{queue}: {message:?}");
        }
    }
    assert_eq!(node.stop().status, Some(0));
}

/// The message may return as often as its queue allows.
#[test]
fn a_kill_counts_as_no_delivery_of_a_quorum_queue() {
    let place = Place::new("message-kill-counts");
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    client.declare(QUEUE, &quorum()).unwrap();
    client.select_confirms().unwrap();
    client.publish(QUEUE, 1, &mut rng());
    client.await_confirms(1);
    client.consume(QUEUE).unwrap();
    assert!(client.received(PATIENCE).unwrap().is_some());
    node.kill();
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    client.consume(QUEUE).unwrap();
    for is_last in [false, true] {
        let message = client.received(PATIENCE).unwrap().unwrap();
        assert!(message.is_redelivered);
        if is_last {
            client.ack(message.delivery_tag, false);
        } else {
            client.requeue(message.delivery_tag);
        }
    }
    client.set_prefetch(0);
    assert_eq!(node.stop().status, Some(0));
}

#[test]
fn an_old_directory_upgrades_while_its_starts_are_killed() {
    let mut rng = rng();
    let place = Place::new("message-upgrade");
    let node = place.start();
    Client::connect(&node.amqp).unwrap().declare(QUEUE, &FieldTable::new()).unwrap();
    assert_eq!(node.stop().status, Some(0));
    // The directory as the last program without messages left it.
    let file = place.data().join("node");
    let new = fs::read_to_string(&file).unwrap();
    let holds = |line: &&str| !line.starts_with("holds ");
    let old: String = new.lines().filter(holds).map(|line| format!("{line}\n")).collect();
    for _ in 0..amount(10, 200) {
        fs::write(&file, old.replace("version 2", "version 1")).unwrap();
        fs::remove_dir_all(place.data().join("messages")).unwrap();
        for _ in 0..rng.usize(1..3) {
            let starting = place.begin();
            wait(Duration::from_micros(rng.u64(..100_000)));
            drop(starting);
        }
        let node = place.start();
        assert_eq!(fs::read_to_string(&file).unwrap(), new);
        let mut client = Client::connect(&node.amqp).unwrap();
        client.select_confirms().unwrap();
        client.publish(QUEUE, 1, &mut rng);
        client.await_confirms(1);
        node.kill();
        let node = place.start();
        let numbers: Vec<u64> =
            Client::connect(&node.amqp).unwrap().drain(QUEUE).iter().map(|message| message.number).collect();
        assert_eq!(numbers, [1]);
        assert_eq!(node.stop().status, Some(0));
    }
}

impl Ledger {
    fn note(&mut self, published: Published, received: &[Received]) {
        self.next = published.next.max(self.next);
        self.confirmed.extend(published.confirmed);
        let mut before = 0;
        for message in received {
            let is_new = self.received.insert(message.number);
            self.again_count += usize::from(!is_new);
            assert!(is_new || message.is_redelivered, "{message:?} comes again, and does not say so");
            assert!(before < message.number, "{message:?} comes behind {before}");
            before = message.number;
        }
    }
}

/// Waits for a random time, so that the node dies at any moment of its work.
fn wait(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        thread::park_timeout(time - start.elapsed());
    }
}

/// The messages of one producer.
#[derive(Default)]
struct Published {
    next: u64,
    confirmed: Vec<u64>,
}

/// Publishes numbered messages until the node is gone.
fn publish(amqp: &str, first: u64, mut rng: Rng) -> Published {
    let mut published = Published { next: first, confirmed: Vec::new() };
    // The error is the end of the node.
    let _ = publish_all(amqp, &mut published, &mut rng);
    published
}

fn publish_all(amqp: &str, published: &mut Published, rng: &mut Rng) -> Result<(), ClientError> {
    let mut client = Client::connect(amqp)?;
    client.declare(QUEUE, &FieldTable::new())?;
    client.select_confirms()?;
    // Tags begin with 1.
    let first = published.next;
    let mut told = 0;
    loop {
        for _ in 0..rng.usize(1..40) {
            published.next += 1;
            client.publish(QUEUE, published.next, rng);
        }
        let wanted = rng.u64(told..=published.next - first);
        while told < wanted {
            if let Some(Event::Ack { delivery_tag, .. }) = client.event(QUIET)? {
                published.confirmed.extend((told..delivery_tag).map(|tag| first + tag + 1));
                told = delivery_tag;
            }
        }
    }
}

/// Consumes messages until the node is gone. Some are acknowledged, one by one or together.
fn consume(amqp: &str, mut rng: Rng) -> Vec<Received> {
    let mut received = Vec::new();
    let _ = consume_all(amqp, &mut received, &mut rng);
    received
}

fn consume_all(amqp: &str, received: &mut Vec<Received>, rng: &mut Rng) -> Result<(), ClientError> {
    let mut client = Client::connect(amqp)?;
    client.declare(QUEUE, &FieldTable::new())?;
    client.consume(QUEUE)?;
    loop {
        if let Some(message) = client.received(QUIET)? {
            received.push(message);
            match rng.u8(..10) {
                0..6 => client.ack(message.delivery_tag, false),
                6 => client.ack(message.delivery_tag, true),
                _ => {}
            }
        }
    }
}
