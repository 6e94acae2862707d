//! Consumers: turns, credit, room, exclusiveness, and the single active consumer.

use super::*;

#[test]
fn a_message_is_delivered_to_a_consumer_or_waits_for_one() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.publish_all("q", &["a", "b"]);
    assert_eq!(bench.count("q"), 2);
    bench.consume_no_ack(channel, "c");
    bench.publish_all("q", &["c"]);
    assert_eq!(bench.delivered(), ["c:a", "c:b", "c:c"]);
    assert_eq!(bench.host.message_counts(), MessageCounts::default());
}

#[test]
fn consumers_of_equal_priority_take_strict_turns() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.consume(channel, "a");
    bench.consume(channel, "b");
    bench.consume_no_ack(channel, "c");
    bench.publish_all("q", &["1", "2", "3", "4", "5"]);
    assert_eq!(bench.delivered(), ["a:1", "b:2", "c:3", "a:4", "b:5"]);
}

#[test]
fn a_higher_priority_goes_first_while_it_has_credit() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.prefetch(channel, 1, false);
    bench.consume(channel, "low");
    let high = arguments([("x-priority", 7.into())]);
    bench.consume_with(channel, "high", false, false, &high).unwrap();
    bench.publish_all("q", &["1", "2", "3"]);
    assert_eq!(bench.delivered(), ["high:1", "low:2"]);
    bench.ack(channel, 2, false).unwrap();
    assert_eq!(bench.delivered(), ["low:3"]);
    bench.ack(channel, 1, false).unwrap();
    bench.publish_all("q", &["4"]);
    assert_eq!(bench.delivered(), ["high:4"]);
}

#[test]
fn prefetch_of_a_consumer_bounds_its_unacknowledged_deliveries() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.prefetch(channel, 2, false);
    bench.consume(channel, "a");
    bench.prefetch(channel, 1, false);
    bench.consume(channel, "b");
    bench.publish_all("q", &["1", "2", "3", "4", "5"]);
    assert_eq!(bench.delivered(), ["a:1", "b:2", "a:3"]);
    bench.ack(channel, 3, true).unwrap();
    assert_eq!(bench.delivered(), ["a:4", "b:5"]);
}

#[test]
fn prefetch_of_a_channel_bounds_all_its_consumers_together() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.prefetch(channel, 2, true);
    bench.consume(channel, "a");
    bench.consume(channel, "b");
    bench.publish_all("q", &["1", "2", "3", "4", "5"]);
    assert_eq!(bench.delivered(), ["a:1", "b:2"]);
    bench.ack(channel, 1, false).unwrap();
    assert_eq!(bench.delivered().len(), 1);
    bench.prefetch(channel, 0, true);
    assert_eq!(bench.delivered().len(), 2);
}

#[test]
fn a_consumer_without_acknowledgements_needs_no_credit() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.prefetch(channel, 1, true);
    bench.consume_no_ack(channel, "a");
    bench.publish_all("q", &["1", "2", "3"]);
    assert_eq!(bench.delivered(), ["a:1", "a:2", "a:3"]);
}

#[test]
fn a_message_taken_by_get_costs_no_credit() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.prefetch(channel, 1, true);
    bench.publish_all("q", &["1", "2"]);
    let (got, count) = bench.get(channel, "q", false).unwrap();
    assert_eq!((got.body.as_str(), got.tag, got.is_redelivered, count), ("1", 1, false, 1));
    bench.consume(channel, "a");
    assert_eq!(bench.delivered(), ["a:2"]);
    assert!(bench.get(channel, "q", true).is_none());
}

#[test]
fn unacknowledged_deliveries_of_a_channel_have_a_bound() {
    let mut bench = Bench::with(Limits { unacknowledged_per_channel_max: 2, ..Limits::default() });
    bench.declare(&queue("q", FieldTable::new())).unwrap();
    let channel = bench.open(ALICE);
    bench.consume(channel, "a");
    bench.publish_all("q", &["1", "2", "3", "4"]);
    assert_eq!(bench.delivered(), ["a:1", "a:2"]);
    bench.ack(channel, 2, true).unwrap();
    assert_eq!(bench.delivered(), ["a:3", "a:4"]);
}

#[test]
fn a_full_connection_gets_nothing_until_it_has_room() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    let other = bench.open(BOB);
    bench.said.room.insert(ALICE, 2);
    bench.consume_no_ack(channel, "alice");
    bench.publish_all("q", &["1", "2", "3"]);
    assert_eq!(bench.delivered(), ["alice:1", "alice:2"]);
    bench.consume_no_ack(other, "bob");
    assert_eq!(bench.delivered(), ["bob:3"]);
    bench.said.room.insert(ALICE, 1);
    bench.host.handle_room(ALICE, bench.now, &mut bench.said);
    bench.publish_all("q", &["4", "5", "6"]);
    assert_eq!(bench.delivered(), ["bob:4", "alice:5", "bob:6"]);
}

#[test]
fn a_channel_without_flow_gets_nothing() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.consume_no_ack(channel, "a");
    bench.host.set_flow(channel, false, bench.now, &mut bench.said);
    bench.publish_all("q", &["1"]);
    assert!(bench.delivered().is_empty());
    bench.host.set_flow(channel, true, bench.now, &mut bench.said);
    assert_eq!(bench.delivered(), ["a:1"]);
}

#[test]
fn an_exclusive_consumer_is_alone() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    let none = FieldTable::new();
    bench.consume_with(channel, "a", true, true, &none).unwrap();
    let expected = "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use";
    assert_eq!(refused(bench.consume_with(channel, "b", true, false, &none)), expected);
    bench.cancel(channel, "a");
    bench.consume_with(channel, "b", true, false, &none).unwrap();
    assert_eq!(refused(bench.consume_with(channel, "c", true, true, &none)), expected);
}

#[test]
fn a_consumer_tag_is_used_once_in_a_channel() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.consume(channel, "a");
    let again = bench.consume_with(channel, "a", true, false, &FieldTable::new());
    assert_eq!(refused(again), "NOT_ALLOWED - attempt to reuse consumer tag 'a'");
    let other = bench.open(ALICE);
    bench.consume(other, "a");
}

#[test]
fn consumers_of_a_channel_have_a_bound() {
    let mut bench = Bench::with(Limits { consumers_per_channel_max: 1, ..Limits::default() });
    bench.declare(&queue("q", FieldTable::new())).unwrap();
    let channel = bench.open(ALICE);
    bench.consume(channel, "a");
    let more = bench.consume_with(channel, "b", true, false, &FieldTable::new());
    assert_eq!(refused(more), "NOT_ALLOWED - reached maximum (1) of consumers per channel");
}

#[test]
fn a_consumer_without_a_tag_gets_one_before_its_first_delivery() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.publish_all("q", &["1"]);
    let declaration = ConsumerDeclaration {
        queue: b"q",
        consumer_tag: b"",
        no_ack: true,
        is_exclusive: false,
        arguments: &FieldTable::new(),
    };
    let mut given = String::new();
    let started = |said: &mut Said, tag: &[u8]| {
        assert!(said.deliveries.is_empty());
        given = text(tag);
    };
    bench.host.consume(channel, &declaration, bench.now, &mut bench.said, started).unwrap();
    assert!(given.starts_with("amq.ctag-"), "{given}");
    assert_eq!(bench.delivered(), [format!("{given}:1")]);
}

#[test]
fn one_active_consumer_takes_all_until_it_goes() {
    let single = arguments([("x-single-active-consumer", true.into())]);
    let (mut bench, channel) = Bench::with_queue(single);
    bench.prefetch(channel, 1, false);
    bench.consume(channel, "a");
    bench.consume(channel, "b");
    let high = arguments([("x-priority", 1.into())]);
    bench.consume_with(channel, "c", false, false, &high).unwrap();
    bench.publish_all("q", &["1", "2", "3", "4"]);
    assert_eq!(bench.delivered(), ["a:1"]);
    bench.ack(channel, 1, false).unwrap();
    assert_eq!(bench.delivered(), ["a:2"]);
    bench.cancel(channel, "a");
    assert_eq!(bench.delivered(), ["c:3"]);
    bench.cancel(channel, "b");
    bench.cancel(channel, "c");
    assert_eq!(bench.count("q"), 1);
    let exclusive = bench.consume_with(channel, "x", true, true, &FieldTable::new());
    assert_eq!(refused(exclusive), "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use");
}

#[test]
fn cancelling_twice_or_an_unknown_tag_is_no_error() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.consume(channel, "a");
    bench.publish_all("q", &["1"]);
    bench.cancel(channel, "a");
    bench.cancel(channel, "a");
    bench.cancel(channel, "b");
    bench.publish_all("q", &["2"]);
    assert_eq!(bench.delivered(), ["a:1"]);
    bench.ack(channel, 1, false).unwrap();
    assert_eq!(bench.count("q"), 1);
}

#[test]
fn consuming_what_does_not_exist_is_refused() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.delete("q");
    let missing = bench.consume_with(channel, "a", true, false, &FieldTable::new());
    assert_eq!(refused(missing), "NOT_FOUND - no queue 'q' in vhost '/'");
    bench.declare(&queue("q", FieldTable::new())).unwrap();
    let wrong = arguments([("x-priority", "high".into())]);
    assert_eq!(
        refused(bench.consume_with(channel, "a", true, false, &wrong)),
        "PRECONDITION_FAILED - invalid arg 'x-priority' for queue 'q' in vhost '/': \"expected integer, got longstr\""
    );
}

/// As in RabbitMQ. The tests of its Java client check both.
#[test]
fn consumers_that_share_the_prefetch_of_a_channel_take_turns() {
    for (consumer_count, prefetch) in [(2, 1), (3, 2), (2, 3), (5, 4)] {
        let (mut bench, channel) = Bench::with_queue(FieldTable::new());
        bench.prefetch(channel, prefetch, true);
        (0..60).for_each(|_| bench.publish_all("q", &["body"]));
        (0..consumer_count).for_each(|number| bench.consume(channel, &number.to_string()));
        let mut taken = vec![0; consumer_count];
        loop {
            let deliveries = bench.take_deliveries();
            if deliveries.is_empty() {
                break;
            }
            for delivery in deliveries {
                taken[delivery.consumer.parse::<usize>().unwrap()] += 1;
                bench.ack(channel, delivery.tag, false).unwrap();
            }
        }
        assert_eq!(taken.iter().sum::<usize>(), 60);
        let share = 60 / consumer_count;
        assert!(taken.iter().all(|count| count.abs_diff(share) <= 4), "prefetch {prefetch}: {taken:?}");
    }
}

#[test]
fn the_prefetch_of_a_channel_holds_up_a_consumer_without_acknowledgements() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.prefetch(channel, 1, true);
    bench.consume(channel, "counts");
    bench.consume_no_ack(channel, "waits");
    bench.publish_all("q", &["1", "2", "3", "4"]);
    assert_eq!(bench.delivered(), ["counts:1"]);
    bench.ack(channel, 1, false).unwrap();
    // The consumer waits for the limit. Its deliveries do not count.
    assert_eq!(bench.delivered(), ["waits:2", "counts:3"]);
    bench.ack(channel, 3, false).unwrap();
    assert_eq!(bench.delivered(), ["waits:4"]);
}

#[test]
fn queues_whose_consumers_share_the_prefetch_of_a_channel_take_turns() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.prefetch(channel, 1, true);
    for name in ["q", "r", "s", "empty"] {
        bench.declare(&queue(name, FieldTable::new())).unwrap();
        let declaration = ConsumerDeclaration {
            queue: name.as_bytes(),
            consumer_tag: name.as_bytes(),
            no_ack: false,
            is_exclusive: false,
            arguments: &FieldTable::new(),
        };
        bench.host.consume(channel, &declaration, bench.now, &mut bench.said, |_, _| {}).unwrap();
    }
    for name in ["q", "r", "s"] {
        bench.publish_all(name, &["1", "2", "3"]);
    }
    let mut taken = Vec::new();
    while let Some(delivery) = bench.take_deliveries().pop() {
        bench.ack(channel, delivery.tag, false).unwrap();
        taken.push(delivery.consumer);
    }
    // The first message was delivered before the other queues had any.
    assert_eq!(taken, ["q", "q", "r", "s", "q", "r", "s", "r", "s"]);
}

#[test]
fn the_time_in_which_consumers_are_not_able_is_counted() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    let capacity = |bench: &Bench| bench.host.queue(b"q").unwrap().capacity.at(bench.now);
    bench.prefetch(channel, 2, false);
    bench.consume(channel, "a");
    bench.publish_all("q", &["1", "2"]);
    bench.pass(1000);
    // The consumer has no credit, and no message waits for it.
    assert_eq!(capacity(&bench), 1.0);
    bench.publish_all("q", &["3", "4"]);
    bench.pass(1000);
    assert_eq!(capacity(&bench), 0.5);
    bench.pass(2000);
    assert_eq!(capacity(&bench), 0.25);
    // One message after the other is delivered to the consumer, until none waits.
    bench.ack(channel, 1, false).unwrap();
    bench.ack(channel, 2, false).unwrap();
    bench.pass(2000);
    assert_eq!(capacity(&bench), 1.0);
    // A message that comes back waits, too.
    bench.publish_all("q", &["5"]);
    bench.pass(1000);
    bench.reject(channel, 3, false, true).unwrap();
    bench.pass(1000);
    assert!(capacity(&bench) < 0.5);
    // Messages wait while there is no consumer. Nothing waits when a consumer takes all.
    bench.cancel(channel, "a");
    bench.pass(1000);
    bench.consume_no_ack(channel, "b");
    assert!(capacity(&bench) < 0.5);
    bench.pass(1000);
    assert_eq!(capacity(&bench), 1.0);
}
