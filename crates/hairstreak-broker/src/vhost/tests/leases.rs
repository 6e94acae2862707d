//! Leases: no message of a logged queue is delivered before the disk has a lease for it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::*;

/// A host with a log, its durable queue `q`, and a channel of Alice.
fn bench() -> (Bench, ChannelId) {
    let mut bench = Bench::new();
    bench.host.log_messages(Arc::new(AtomicU64::new(0)));
    bench.declare(&QueueDeclaration { is_durable: true, ..queue("q", FieldTable::new()) }).unwrap();
    let channel = bench.open(ALICE);
    (bench, channel)
}

fn publish(bench: &mut Bench, count: usize, mode: u8) {
    let properties = Properties { delivery_mode: Some(mode), ..Properties::default() };
    for number in 0..count {
        let published = bench.publish_with("", "q", &number.to_string(), &properties);
        assert_ne!(published, Published::Refused);
    }
}

/// The leases that went to the log since the last call.
fn logged(bench: &mut Bench) -> Vec<u64> {
    let changes = bench.host.log_changes().drain(..);
    let leases = changes.filter_map(|change| match change {
        LogChange::Leased { queue: 1, through } => Some(through),
        _ => None,
    });
    leases.collect()
}

#[test]
fn a_delivery_waits_until_the_disk_has_its_lease() {
    let (mut bench, channel) = bench();
    publish(&mut bench, 3, 2);
    assert_eq!(logged(&mut bench), [0_u64; 0], "nothing is delivered");
    bench.consume(channel, "a");
    assert_eq!((logged(&mut bench), bench.delivered()), (vec![65], vec![]));
    publish(&mut bench, 1, 2);
    assert_eq!((logged(&mut bench), bench.delivered()), (vec![], vec![]));
    assert_eq!(bench.grant_leases(), [65]);
    assert_eq!(bench.delivered(), ["a:0", "a:1", "a:2", "a:0"]);
    publish(&mut bench, 1, 2);
    assert_eq!((logged(&mut bench), bench.delivered().len()), (vec![], 1));
}

#[test]
fn a_message_that_arrives_waits_for_its_lease_too() {
    let (mut bench, channel) = bench();
    bench.consume(channel, "a");
    publish(&mut bench, 1, 2);
    assert_eq!((logged(&mut bench), bench.delivered()), (vec![65], vec![]));
    bench.grant_leases();
    assert_eq!(bench.delivered(), ["a:0"]);
}

#[test]
fn a_lease_is_renewed_while_half_of_it_is_left_and_grows() {
    let (mut bench, channel) = bench();
    bench.consume(channel, "a");
    let mut leases = Vec::new();
    for number in 1..=20_000 {
        publish(&mut bench, 1, 2);
        let asked = logged(&mut bench);
        // The first delivery waits, and no other.
        assert_eq!(bench.delivered().len(), usize::from(number > 1), "message {number}");
        leases.extend(asked);
        bench.grant_leases();
        if number == 1 {
            assert_eq!(bench.delivered().len(), 1);
        }
    }
    assert_eq!(leases[..4], [65, 34 + 128, 99 + 256, 228 + 512]);
    let distances: Vec<_> = leases.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(distances.iter().all(|distance| *distance <= 2_049 * 2), "{distances:?}");
    assert!(leases.len() < 16, "{leases:?}");
}

#[test]
fn a_backlog_that_no_consumer_takes_has_no_lease() {
    let (mut bench, channel) = bench();
    publish(&mut bench, 1_000, 2);
    bench.prefetch(channel, 10, false);
    bench.consume(channel, "a");
    bench.grant_leases();
    assert_eq!(bench.delivered().len(), 10);
    // Publishers go on behind.
    publish(&mut bench, 1_000, 2);
    assert_eq!(logged(&mut bench), [65]);
    bench.ack(channel, 10, true).unwrap();
    assert_eq!((bench.delivered().len(), logged(&mut bench)), (10, vec![]));
}

#[test]
fn messages_outside_of_the_log_need_no_lease() {
    let (mut bench, channel) = bench();
    bench.consume(channel, "a");
    publish(&mut bench, 100, 1);
    assert_eq!((bench.delivered().len(), logged(&mut bench)), (100, vec![]));
    bench.cancel(channel, "a");
    bench.consume_no_ack(channel, "b");
    publish(&mut bench, 100, 2);
    assert_eq!((bench.delivered().len(), logged(&mut bench)), (100, vec![]));
    bench.cancel(channel, "b");
    publish(&mut bench, 1, 2);
    bench.consume_no_ack(channel, "c");
    assert_eq!((bench.delivered().len(), logged(&mut bench)), (0, vec![201 + 64]));
}

#[test]
fn a_request_for_a_message_waits_for_its_lease() {
    let (mut bench, channel) = bench();
    publish(&mut bench, 2, 2);
    let take = |_: &mut Said, _: Got, _: &MessageView<'_>| panic!("the message has no lease");
    let outcome = bench.host.get(channel, b"q", false, bench.now, &mut bench.said, take).unwrap();
    assert_eq!((outcome, bench.host.want_front(b"q")), (GetOutcome::OnDisk, true));
    bench.host.await_front(ALICE, b"q");
    assert!(bench.host.has_to_wait(ALICE));
    bench.grant_leases();
    assert!(!bench.host.has_to_wait(ALICE) && !bench.host.want_front(b"q"));
    assert_eq!(bench.get(channel, "q", false).unwrap().0.body, "0");
}

#[test]
fn deliveries_go_on_where_the_disk_does_not_answer() {
    let (mut bench, channel) = bench();
    bench.consume(channel, "a");
    publish(&mut bench, 1, 2);
    bench.pass(1_999);
    assert_eq!(bench.delivered(), Vec::<String>::new());
    bench.pass(1);
    assert_eq!(bench.delivered(), ["a:0"]);
    publish(&mut bench, 999, 2);
    assert_eq!((logged(&mut bench), bench.delivered().len()), (vec![65], 999));
    // The disk answers again: the queue has a lease for all that was delivered as soon as possible.
    bench.grant_leases();
    assert_eq!(logged(&mut bench), [1_000 + 128]);
    publish(&mut bench, 1, 2);
    assert_eq!(bench.delivered(), Vec::<String>::new());
    bench.grant_leases();
    assert_eq!(bench.delivered(), ["a:0"]);
}

#[test]
fn only_queues_without_deliveries_end_their_leases() {
    let (mut bench, channel) = bench();
    publish(&mut bench, 2, 2);
    bench.consume(channel, "a");
    bench.grant_leases();
    assert_eq!(bench.host.last_leases().collect::<Vec<_>>(), []);
    bench.disconnect(ALICE);
    assert_eq!(bench.host.last_leases().collect::<Vec<_>>(), [(1, 0)]);
}
