//! Lifetimes of queues and their messages.

use super::*;

#[test]
fn an_auto_delete_queue_goes_with_its_last_consumer() {
    let mut bench = Bench::new();
    let declaration = QueueDeclaration { is_auto_delete: true, ..queue("q", FieldTable::new()) };
    bench.declare(&declaration).unwrap();
    let (channel, other) = (bench.open(ALICE), bench.open(BOB));
    assert!(bench.get(channel, "q", true).is_none());
    assert!(bench.exists("q"));
    bench.consume(channel, "a");
    bench.consume(other, "b");
    bench.publish_all("q", &["1"]);
    bench.cancel(channel, "a");
    assert!(bench.exists("q"));
    bench.disconnect(BOB);
    assert!(!bench.exists("q"));
    assert!(bench.said.cancelled.is_empty());
    bench.ack(channel, 1, false).unwrap();
    assert_eq!(bench.host.message_counts(), MessageCounts::default());
}

#[test]
fn deleting_asks_whether_the_queue_is_used_or_empty() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    let delete = |bench: &mut Bench, if_unused, if_empty| {
        bench.host.delete_queue(ALICE, b"q", if_unused, if_empty, bench.now, &mut bench.said)
    };
    bench.publish_all("q", &["1"]);
    let expected = "PRECONDITION_FAILED - queue 'q' in vhost '/' not empty";
    assert_eq!(refused(delete(&mut bench, false, true)), expected);
    bench.consume(channel, "a");
    let expected = "PRECONDITION_FAILED - queue 'q' in vhost '/' in use";
    assert_eq!(refused(delete(&mut bench, true, true)), expected);
    assert_eq!(delete(&mut bench, false, true), Ok(0));
    assert_eq!(bench.said.cancelled, ["a"]);
}

#[test]
fn a_deleted_queue_cancels_its_consumers_everywhere() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    let other = bench.open(BOB);
    bench.prefetch(other, 1, false);
    bench.consume(channel, "a");
    bench.consume(other, "b");
    bench.publish_all("q", &["1", "2", "3"]);
    bench.delete("q");
    assert_eq!(bench.said.cancelled, ["a", "b"]);
    bench.declare(&queue("q", FieldTable::new())).unwrap();
    bench.consume(channel, "a");
    bench.consume(other, "b");
    bench.close(channel);
    bench.close(other);
    bench.publish_all("q", &["4"]);
    assert_eq!(bench.drain("q"), ["4"]);
}

#[test]
fn purging_leaves_what_is_delivered() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.publish_all("q", &["1", "2", "3"]);
    assert!(bench.get(channel, "q", false).is_some());
    assert_eq!(bench.host.purge_queue(ALICE, b"q"), Ok(2));
    bench.reject(channel, 1, false, true).unwrap();
    assert_eq!(bench.drain("q"), ["1"]);
}

#[test]
fn a_message_is_routed_unroutable_or_its_route_is_stale() {
    let (mut bench, _) = Bench::with_queue(FieldTable::new());
    assert_eq!(bench.publish("none", "1"), Published::Unroutable);
    let mut route = Route::new();
    bench.host.resolve(&Routing::new(b"", b"q"), &mut route).unwrap();
    assert!(bench.host.holds(&route));
    bench.delete("q");
    bench.declare(&queue("p", FieldTable::new())).unwrap();
    assert!(!bench.host.holds(&route));
    let message = Message {
        exchange: b"",
        routing_key: b"q",
        properties: &[0, 0],
        attributes: Attributes::default(),
        body: BodyView::Copied(b""),
    };
    assert_eq!(bench.host.publish(&route, &message, bench.now, &mut bench.said), Published::Stale);
    assert_eq!(bench.count("p"), 0);
}

#[test]
fn durable_messages_are_counted_with_those_delivered() {
    let mut bench = Bench::new();
    let durable = QueueDeclaration { is_durable: true, ..queue("q", FieldTable::new()) };
    bench.declare(&durable).unwrap();
    bench.declare(&queue("transient", FieldTable::new())).unwrap();
    let channel = bench.open(ALICE);
    let persistent = Properties { delivery_mode: Some(2), ..Properties::default() };
    for name in ["q", "q", "transient"] {
        let _ = bench.publish_with("", name, "1", &persistent);
    }
    bench.publish_all("q", &["2"]);
    assert!(bench.get(channel, "q", false).is_some());
    assert_eq!(bench.host.unlogged_message_count(), 2);
}
