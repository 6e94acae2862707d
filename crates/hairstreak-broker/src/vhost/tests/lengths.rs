//! Queues with a maximum length.

use super::*;

fn with_overflow(count: i32, overflow: &str) -> FieldTable {
    arguments([("x-max-length", count.into()), ("x-overflow", overflow.into())])
}

#[test]
fn the_oldest_message_of_a_queue_that_is_too_long_goes() {
    let (mut bench, _) = Bench::with_queue(arguments([("x-max-length", 2.into())]));
    bench.publish_all("q", &["1", "2", "3", "4"]);
    assert_eq!(bench.drain("q"), ["3", "4"]);
}

#[test]
fn the_bytes_of_bodies_count() {
    let (mut bench, _) = Bench::with_queue(arguments([("x-max-length-bytes", 5.into())]));
    bench.publish_all("q", &["123", "45", "6"]);
    assert_eq!(bench.drain("q"), ["45", "6"]);
    bench.publish_all("q", &["1", "too long"]);
    assert_eq!(bench.count("q"), 0);
}

#[test]
fn a_message_that_a_consumer_takes_does_not_count() {
    let (mut bench, channel) = Bench::with_queue(arguments([("x-max-length", 0.into())]));
    bench.consume_no_ack(channel, "a");
    bench.publish_all("q", &["1", "2"]);
    assert_eq!(bench.delivered(), ["a:1", "a:2"]);
}

#[test]
fn a_full_queue_refuses_what_is_published() {
    let (mut bench, channel) = Bench::with_queue(with_overflow(2, "reject-publish"));
    bench.publish_all("q", &["1", "2"]);
    assert_eq!(bench.publish("q", "3"), Published::Refused);
    assert!(bench.get(channel, "q", false).is_some());
    bench.publish_all("q", &["4"]);
    bench.reject(channel, 1, false, true).unwrap();
    assert_eq!(bench.drain("q"), ["1", "2", "4"]);
}

#[test]
fn a_full_queue_dead_letters_what_it_refuses_if_it_is_to() {
    let mut arguments = with_overflow(1, "reject-publish-dlx");
    arguments.insert("x-dead-letter-exchange", "");
    arguments.insert("x-dead-letter-routing-key", "dead");
    let (mut bench, _) = Bench::with_queue(arguments);
    bench.declare(&queue("dead", FieldTable::new())).unwrap();
    bench.publish_all("q", &["1"]);
    assert_eq!(bench.publish("q", "2"), Published::Refused);
    assert_eq!(bench.drain("dead"), ["2"]);
    assert_eq!(bench.drain("q"), ["1"]);
}

#[test]
fn what_returns_may_make_a_queue_too_long() {
    let (mut bench, channel) = Bench::with_queue(arguments([("x-max-length", 2.into())]));
    bench.publish_all("q", &["1", "2"]);
    assert!(bench.get(channel, "q", false).is_some());
    bench.publish_all("q", &["3"]);
    bench.reject(channel, 1, false, true).unwrap();
    assert_eq!(bench.drain("q"), ["2", "3"]);
}

#[test]
fn one_of_two_queues_refuses() {
    let (mut bench, _) = Bench::with_queue(with_overflow(0, "reject-publish"));
    bench.declare(&queue("other", FieldTable::new())).unwrap();
    for name in [b"q" as &[u8], b"other"] {
        bench.host.bind_queue(ALICE, name, b"amq.fanout", b"", &FieldTable::new()).unwrap();
    }
    let properties = Properties::default();
    assert_eq!(bench.publish_with("amq.fanout", "", "1", &properties), Published::Refused);
    assert_eq!(bench.drain("other"), ["1"]);
}

#[test]
fn messages_in_memory_have_a_bound() {
    let mut bench = Bench::with(Limits { messages_max: 2, ..Limits::default() });
    bench.declare(&queue("q", FieldTable::new())).unwrap();
    bench.publish_all("q", &["1", "2"]);
    assert_eq!(bench.publish("q", "3"), Published::Refused);
    assert_eq!(bench.drain("q"), ["1", "2"]);
}

#[test]
fn what_one_queue_drops_at_once_the_next_one_still_gets() {
    let (mut bench, _) = Bench::with_queue(arguments([("x-max-length", 0.into())]));
    bench.declare(&queue("other", FieldTable::new())).unwrap();
    for queue in ["q", "other"] {
        let table = FieldTable::new();
        bench.host.bind_queue(ConnectionId(1), queue.as_bytes(), b"amq.fanout", b"", &table).unwrap();
    }
    for body in ["1", "2"] {
        assert_eq!(bench.publish_with("amq.fanout", "", body, &Properties::default()), Published::Routed);
    }
    assert_eq!((bench.drain("q").len(), bench.drain("other")), (0, vec!["1".to_owned(), "2".to_owned()]));
}
