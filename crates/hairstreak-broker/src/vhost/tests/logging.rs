//! The message log: the messages that a host puts into it, and the changes that it takes from it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::*;

/// The id of the first queue in the log.
const QUEUE: u64 = 7;

/// Delivery modes.
const TRANSIENT: u8 = 1;
const PERSISTENT: u8 = 2;

/// A host with a log, its durable queue `q`, and a channel of Alice.
fn with_log() -> (Bench, ChannelId) {
    let mut bench = Bench::new();
    bench.host.log_messages(Arc::new(AtomicU64::new(QUEUE - 1)));
    bench.declare(&QueueDeclaration { is_durable: true, ..queue("q", FieldTable::new()) }).unwrap();
    let channel = bench.open(ALICE);
    (bench, channel)
}

fn publish_to(bench: &mut Bench, queue: &str, mode: u8, expiration: Option<&'static [u8]>) -> Published {
    let properties = Properties { delivery_mode: Some(mode), expiration, ..Properties::default() };
    bench.publish_with("", queue, "body", &properties)
}

fn publish(bench: &mut Bench, mode: u8) -> Published {
    publish_to(bench, "q", mode, None)
}

/// The places and the lives of the messages that the log got since the last call.
fn appended(bench: &mut Bench) -> Vec<(u64, Option<u64>)> {
    let targets = std::mem::take(&mut bench.said.logged);
    assert!(targets.iter().all(|target| target.queue == QUEUE));
    targets.into_iter().map(|target| (target.sequence, target.ttl_ms)).collect()
}

/// The first place and the number of messages of each run that left since the last call.
fn settled(bench: &mut Bench) -> Vec<(u64, u64)> {
    let runs = bench.host.log_changes().drain(..).filter_map(|change| match change {
        LogChange::Settled(LogRun { queue: QUEUE, first, count, body_size: 4 }) => Some((first, count)),
        LogChange::Leased { queue: QUEUE, .. } => None,
        other => panic!("{other:?}"),
    });
    runs.collect()
}

#[test]
fn the_log_gets_the_persistent_messages_of_durable_queues() {
    let (mut bench, _) = with_log();
    assert_eq!(publish(&mut bench, PERSISTENT), Published::Logged(Durability::Synced));
    assert_eq!(publish(&mut bench, TRANSIENT), Published::Routed);
    assert_eq!(publish_to(&mut bench, "q", PERSISTENT, Some(b"50")), Published::Logged(Durability::Synced));
    assert_eq!(appended(&mut bench), [(1, None), (3, Some(50))]);
    bench.declare(&queue("passing", FieldTable::new())).unwrap();
    assert_eq!(publish_to(&mut bench, "passing", PERSISTENT, None), Published::Routed);
    assert_eq!((appended(&mut bench), settled(&mut bench)), (vec![], vec![]));
}

#[test]
fn a_delivered_message_is_in_the_log_until_it_is_acknowledged() {
    let (mut bench, channel) = with_log();
    bench.consume(channel, "a");
    // Deliveries 1 to 600: the 300th is not in the log.
    for number in 1..=600 {
        let mode = if number == 300 { TRANSIENT } else { PERSISTENT };
        assert_ne!(publish(&mut bench, mode), Published::Refused);
        bench.grant_leases();
    }
    assert_eq!(appended(&mut bench).len(), 599);
    assert_eq!(settled(&mut bench), []);
    bench.ack(channel, 2, false).unwrap();
    assert_eq!(settled(&mut bench), [(2, 1)]);
    bench.ack(channel, 599, true).unwrap();
    assert_eq!(settled(&mut bench), [(1, 1), (3, 297), (301, 299)]);
    bench.reject(channel, 600, false, false).unwrap();
    assert_eq!(settled(&mut bench), [(600, 1)]);
}

#[test]
fn a_message_for_a_consumer_without_acknowledgements_leaves_at_once() {
    let (mut bench, channel) = with_log();
    assert_eq!(publish(&mut bench, PERSISTENT), Published::Logged(Durability::Synced));
    bench.consume_no_ack(channel, "a");
    bench.grant_leases();
    assert_eq!((appended(&mut bench), settled(&mut bench)), (vec![(1, None)], vec![(1, 1)]));
    // The consumer waits: the queue never has the next message.
    assert_eq!(publish(&mut bench, PERSISTENT), Published::Routed);
    assert_eq!((appended(&mut bench), settled(&mut bench)), (vec![], vec![]));
    bench.cancel(channel, "a");
    assert_eq!(publish(&mut bench, PERSISTENT), Published::Logged(Durability::Synced));
    bench.get(channel, "q", true).unwrap();
    assert_eq!((appended(&mut bench), settled(&mut bench)), (vec![(3, None)], vec![(3, 1)]));
}
