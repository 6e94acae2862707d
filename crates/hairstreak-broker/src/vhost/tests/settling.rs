//! Acknowledging, rejecting, requeuing and recovering.

use super::*;

/// A channel with the deliveries `1` to `count` to settle.
fn with_deliveries(count: u64) -> (Bench, ChannelId) {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.consume(channel, "a");
    for number in 1..=count {
        bench.publish_all("q", &[&number.to_string()]);
    }
    bench.said.deliveries.clear();
    (bench, channel)
}

#[test]
fn an_acknowledged_message_is_gone() {
    let (mut bench, channel) = with_deliveries(3);
    bench.ack(channel, 2, false).unwrap();
    assert_eq!(bench.host.message_counts(), MessageCounts { ready: 0, unacknowledged: 2 });
    bench.ack(channel, 3, true).unwrap();
    assert_eq!(bench.host.message_counts(), MessageCounts::default());
}

#[test]
fn an_unknown_delivery_tag_is_refused() {
    let (mut bench, channel) = with_deliveries(2);
    for (tag, multiple) in [(3, false), (3, true), (0, false)] {
        let text = format!("PRECONDITION_FAILED - unknown delivery tag {tag}");
        assert_eq!(refused(bench.ack(channel, tag, multiple)), text);
        assert_eq!(refused(bench.reject(channel, tag, multiple, true)), text);
    }
    assert_eq!(bench.host.message_counts().unacknowledged, 2);
    bench.ack(channel, 1, false).unwrap();
    assert_eq!(refused(bench.ack(channel, 1, false)), "PRECONDITION_FAILED - unknown delivery tag 1");
    bench.ack(channel, 0, true).unwrap();
    bench.ack(channel, 0, true).unwrap();
    assert_eq!(bench.host.message_counts().unacknowledged, 0);
}

#[test]
fn what_is_rejected_without_requeue_is_gone() {
    let (mut bench, channel) = with_deliveries(3);
    bench.reject(channel, 2, true, false).unwrap();
    assert_eq!(bench.host.message_counts(), MessageCounts { ready: 0, unacknowledged: 1 });
}

#[test]
fn what_is_requeued_returns_to_its_place_and_is_redelivered() {
    let (mut bench, channel) = with_deliveries(5);
    bench.cancel(channel, "a");
    bench.publish_all("q", &["6", "7"]);
    bench.reject(channel, 4, false, true).unwrap();
    bench.reject(channel, 2, true, true).unwrap();
    let got: Vec<(String, bool)> =
        std::iter::from_fn(|| bench.get(channel, "q", true).map(|(got, _)| (got.body, got.is_redelivered)))
            .collect();
    let expected = [("1", true), ("2", true), ("4", true), ("6", false), ("7", false)];
    assert_eq!(got, expected.map(|(body, is_redelivered)| (body.to_owned(), is_redelivered)));
}

#[test]
fn a_requeued_message_goes_to_the_consumer_again() {
    let (mut bench, channel) = with_deliveries(2);
    bench.reject(channel, 1, false, true).unwrap();
    let [delivery] = &bench.take_deliveries()[..] else { panic!("not one delivery") };
    assert_eq!((delivery.tag, delivery.is_redelivered, delivery.body.as_str()), (3, true, "1"));
}

#[test]
fn recover_delivers_everything_again_in_order() {
    let (mut bench, channel) = with_deliveries(3);
    bench.ack(channel, 2, false).unwrap();
    bench.host.recover(channel, true, bench.now, &mut bench.said).unwrap();
    let deliveries = bench.take_deliveries();
    let seen: Vec<_> = deliveries.iter().map(|d| (d.body.as_str(), d.tag, d.is_redelivered)).collect();
    assert_eq!(seen, [("1", 4, true), ("3", 5, true)]);
    let refusal = bench.host.recover(channel, false, bench.now, &mut bench.said);
    assert_eq!(refused(refusal), "NOT_IMPLEMENTED - requeue=false");
}

#[test]
fn a_closed_channel_returns_its_messages_to_others() {
    let (mut bench, channel) = with_deliveries(3);
    let other = bench.open(BOB);
    bench.consume(other, "b");
    bench.close(channel);
    let deliveries = bench.take_deliveries();
    let seen: Vec<_> =
        deliveries.iter().map(|d| (d.consumer.as_str(), d.body.as_str(), d.is_redelivered)).collect();
    assert_eq!(seen, [("b", "1", true), ("b", "2", true), ("b", "3", true)]);
}

#[test]
fn messages_of_a_deleted_queue_can_still_be_settled() {
    let (mut bench, channel) = with_deliveries(3);
    bench.delete("q");
    assert_eq!(bench.said.cancelled, ["a"]);
    bench.declare(&queue("q", FieldTable::new())).unwrap();
    bench.ack(channel, 1, false).unwrap();
    bench.reject(channel, 2, false, true).unwrap();
    bench.reject(channel, 3, false, false).unwrap();
    assert_eq!(bench.count("q"), 0);
    assert_eq!(bench.host.message_counts(), MessageCounts::default());
}

#[test]
fn tags_are_settled_in_any_order_beside_deliveries_without_acknowledgement() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.consume(channel, "a");
    bench.consume_no_ack(channel, "b");
    for number in 0..1_000 {
        bench.publish_all("q", &[&number.to_string()]);
    }
    let mut tags: Vec<u64> =
        bench.take_deliveries().iter().filter(|d| d.consumer == "a").map(|d| d.tag).collect();
    assert_eq!(tags.len(), 500);
    // Odd and even places from both ends.
    tags.sort_by_key(|tag| (tag % 4, tag.wrapping_mul(7_919) % 1_009));
    for tag in &tags {
        bench.ack(channel, *tag, false).unwrap();
        assert!(bench.ack(channel, *tag, false).is_err());
    }
    assert_eq!(bench.host.message_counts().unacknowledged, 0);
}

#[test]
fn a_message_that_comes_back_too_often_is_dropped() {
    let mut bench = Bench::new();
    bench.declare(&quorum("q", arguments([("x-delivery-limit", 2.into())]))).unwrap();
    let channel = bench.open(ALICE);
    bench.publish_all("q", &["1"]);
    for count in 0..3 {
        let (got, _) = bench.get(channel, "q", false).unwrap();
        assert_eq!(got.headers().get("x-delivery-count"), Some(&FieldValue::I64(count)));
        assert_eq!(got.is_redelivered, count > 0);
        bench.reject(channel, got.tag, false, true).unwrap();
    }
    assert!(bench.get(channel, "q", false).is_none());
}
