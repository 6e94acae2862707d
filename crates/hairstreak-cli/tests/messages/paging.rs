//! Queues that are longer than the memory: their messages are on disk until consumers come.

use std::time::Duration;

use hairstreak_testkit::{Rng, rng};
use hairstreak_wire::amqp::{FieldTable, Properties};

use crate::client::Client;
use crate::node::Place;
use crate::process::folder;
use crate::soak::amount;

/// A fraction of the messages of a test. Publishers would wait for ever if messages stayed in memory.
const WATERMARK: &str = "amqp.memory_watermark = 16777216\n";

/// Publishes messages with bodies of up to 20,000 bytes, and waits for their confirms.
fn publish(
    client: &mut Client,
    queue: &str,
    numbers: std::ops::Range<u64>,
    rng: &mut Rng,
    is_persistent: impl Fn(u64) -> bool,
) {
    let count = numbers.end - numbers.start;
    for (index, number) in numbers.enumerate() {
        let mut body = format!("{number} ").into_bytes();
        body.resize(body.len() + rng.usize(..20_000), b'x');
        let delivery_mode = if is_persistent(number) { Some(2) } else { Some(1) };
        client.publish_with("", queue, &Properties { delivery_mode, ..Properties::default() }, &body);
        if index % 100 == 99 {
            client.await_confirms(index as u64 + 1);
        }
    }
    client.await_confirms(count);
}

#[test]
fn queues_longer_than_the_memory_are_delivered_in_order() {
    let mut rng = rng();
    let count = amount(4_000, 100_000) as u64;
    let place = Place::at(folder("message-paging"), WATERMARK);
    let node = place.start();
    for (queue, persistent_part) in [("persistent", 1), ("mixed", 2), ("transient", u64::MAX)] {
        let mut client = Client::connect(&node.amqp).unwrap();
        client.declare(queue, &FieldTable::new()).unwrap();
        client.select_confirms().unwrap();
        publish(&mut client, queue, 1..count + 1, &mut rng, |number| number % persistent_part == 0);
    }
    // A consumer takes some, and leaves without a word.
    let mut client = Client::connect(&node.amqp).unwrap();
    client.set_prefetch(50);
    client.consume("mixed").unwrap();
    for number in 1..=50 {
        let message = client.received(Duration::from_secs(60)).unwrap().unwrap();
        assert_eq!((message.number, message.is_redelivered), (number, false));
    }
    drop(client);
    let mut client = Client::connect(&node.amqp).unwrap();
    for queue in ["persistent", "mixed", "transient"] {
        let received = client.drain_at_least(queue, count as usize);
        assert!(received.iter().map(|message| message.number).eq(1..=count), "{queue}");
    }
}

#[test]
fn what_was_on_disk_survives_kill_9_and_a_second_backlog_comes_behind() {
    let mut rng = rng();
    let place = Place::at(folder("message-paging-kill"), WATERMARK);
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    client.declare("q", &FieldTable::new()).unwrap();
    client.select_confirms().unwrap();
    publish(&mut client, "q", 1..4_001, &mut rng, |number| number % 3 > 0);
    client.set_prefetch(50);
    client.consume("q").unwrap();
    for _ in 0..50 {
        assert!(client.received(Duration::from_secs(60)).unwrap().is_some());
    }
    node.kill();
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    client.select_confirms().unwrap();
    publish(&mut client, "q", 4_001..8_001, &mut rng, |number| number % 3 > 0);
    let expected: Vec<u64> = (1..=8_000).filter(|number| *number > 4_000 || number % 3 > 0).collect();
    let received = client.drain_at_least("q", expected.len());
    assert!(received.iter().map(|message| message.number).eq(expected));
    // Most messages of the backlog were not delivered before the kill.
    let marked_count = received.iter().filter(|message| message.is_redelivered).count();
    assert!((33..1_000).contains(&marked_count), "{marked_count} messages are marked");
    assert!(received[..marked_count].iter().all(|message| message.is_redelivered));
}
