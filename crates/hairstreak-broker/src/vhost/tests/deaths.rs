//! Dead letters: their destinations and their headers.

use super::*;

/// `q` dead-letters into `dead` by the default exchange, with further arguments.
fn with_dead_letters<const N: usize>(more: [(&str, FieldValue); N]) -> (Bench, ChannelId) {
    let mut arguments = arguments(more);
    arguments.insert("x-dead-letter-exchange", "");
    arguments.insert("x-dead-letter-routing-key", "dead");
    let (mut bench, channel) = Bench::with_queue(arguments);
    bench.declare(&queue("dead", FieldTable::new())).unwrap();
    (bench, channel)
}

fn deaths(delivery: &Delivery) -> Vec<FieldTable> {
    let headers = delivery.headers();
    let deaths = headers.get("x-death").and_then(FieldValue::as_array).unwrap_or_default();
    deaths.iter().map(|death| death.as_table().unwrap().clone()).collect()
}

fn field(table: &FieldTable, name: &str) -> String {
    text(table.get(name).unwrap_or_else(|| panic!("no {name} in {table:?}")).as_bytes().unwrap())
}

/// `queue reason count` of each death.
fn shown(delivery: &Delivery) -> Vec<String> {
    let show = |death: &FieldTable| {
        let count = death.get("count").and_then(FieldValue::as_i64).unwrap();
        format!("{} {} {count}", field(death, "queue"), field(death, "reason"))
    };
    deaths(delivery).iter().map(show).collect()
}

#[test]
fn a_dead_letter_says_where_and_why_it_died() {
    let (mut bench, channel) = with_dead_letters([]);
    bench.host.bind_queue(ALICE, b"q", b"amq.direct", b"key", &FieldTable::new()).unwrap();
    let properties = Properties {
        expiration: Some(b"5000"),
        delivery_mode: Some(2),
        priority: Some(3),
        message_id: Some(b"id"),
        ..Properties::default()
    };
    let _ = bench.publish_with("amq.direct", "key", "body", &properties);
    assert!(bench.get(channel, "q", false).is_some());
    bench.reject(channel, 1, false, false).unwrap();
    let (letter, _) = bench.get(channel, "dead", true).unwrap();
    assert_eq!((letter.exchange.as_str(), letter.routing_key.as_str()), ("", "dead"));
    assert_eq!((letter.body.as_str(), letter.is_redelivered), ("body", false));
    let kept = Properties::decode(&letter.properties).unwrap();
    assert_eq!((kept.expiration, kept.delivery_mode, kept.message_id), (None, Some(2), Some(b"id" as &[u8])));
    let headers = letter.headers();
    let first = ["exchange", "queue", "reason"].map(|name| field(&headers, &format!("x-first-death-{name}")));
    assert_eq!(first, ["amq.direct", "q", "rejected"]);
    let [death] = &deaths(&letter)[..] else { panic!("not one death") };
    let expected = arguments([
        ("count", FieldValue::I64(1)),
        ("reason", "rejected".into()),
        ("queue", "q".into()),
        ("time", FieldValue::Timestamp(1_000)),
        ("exchange", "amq.direct".into()),
        ("routing-keys", vec!["key".into()].into()),
        ("original-expiration", "5000".into()),
    ]);
    assert_eq!(*death, expected);
}

#[test]
fn each_reason_has_its_name() {
    let (mut bench, _) = with_dead_letters([("x-message-ttl", 10.into()), ("x-max-length", 1.into())]);
    bench.publish_all("q", &["1", "2"]);
    bench.pass(10);
    let channel = bench.open(ALICE);
    let names = [(); 2].map(|()| shown(&bench.get(channel, "dead", true).unwrap().0));
    assert_eq!(names, [["q maxlen 1"], ["q expired 1"]]);
    bench.declare(&queue("limited", FieldTable::new())).unwrap();
    let limited = arguments([
        ("x-delivery-limit", 0.into()),
        ("x-dead-letter-exchange", "".into()),
        ("x-dead-letter-routing-key", "dead".into()),
    ]);
    bench.declare(&quorum("quorum", limited)).unwrap();
    bench.publish_all("quorum", &["3"]);
    let (got, _) = bench.get(channel, "quorum", false).unwrap();
    bench.reject(channel, got.tag, false, true).unwrap();
    assert_eq!(shown(&bench.get(channel, "dead", true).unwrap().0), ["quorum delivery_limit 1"]);
}

#[test]
fn repeated_deaths_are_counted_and_the_last_comes_first() {
    let (mut bench, channel) = with_dead_letters([]);
    let back = arguments([
        ("x-message-ttl", 10.into()),
        ("x-dead-letter-exchange", "".into()),
        ("x-dead-letter-routing-key", "q".into()),
    ]);
    bench.delete("dead");
    bench.declare(&queue("dead", back)).unwrap();
    bench.publish_all("q", &["1"]);
    for expected in [vec![], vec!["dead expired 1", "q rejected 1"], vec!["dead expired 2", "q rejected 2"]] {
        let (got, _) = bench.get(channel, "q", false).unwrap();
        assert_eq!(shown(&got), expected);
        if let Some(last) = deaths(&got).first() {
            let names: Vec<_> = last.iter().map(|(name, _)| text(name)).collect();
            assert!(names.is_sorted(), "RabbitMQ sorts the fields of a further death: {names:?}");
        }
        bench.reject(channel, got.tag, false, false).unwrap();
        bench.pass(10);
    }
}

#[test]
fn a_cycle_without_a_rejection_ends() {
    let around = |to: &str| {
        arguments([
            ("x-message-ttl", 10.into()),
            ("x-dead-letter-exchange", "".into()),
            ("x-dead-letter-routing-key", to.into()),
        ])
    };
    let mut bench = Bench::new();
    bench.declare(&queue("a", around("b"))).unwrap();
    bench.declare(&queue("b", around("a"))).unwrap();
    bench.publish_all("a", &["1"]);
    bench.pass(10);
    assert_eq!((bench.count("a"), bench.count("b")), (0, 1));
    bench.pass(10);
    assert_eq!((bench.count("a"), bench.count("b")), (0, 0));
    assert_eq!(bench.host.message_counts(), MessageCounts::default());
    // A queue that dead-letters to itself the messages it has no room for: all in one call.
    let own = arguments([
        ("x-max-length", 1.into()),
        ("x-dead-letter-exchange", "".into()),
        ("x-dead-letter-routing-key", "own".into()),
    ]);
    bench.declare(&queue("own", own)).unwrap();
    bench.publish_all("own", &["1", "2", "3"]);
    assert_eq!(bench.count("own"), 1);
}

#[test]
fn the_keys_of_a_message_stay_unless_the_queue_has_its_own() {
    let cc = FieldValue::Array(vec!["dead".into(), "none".into()]);
    let headers = arguments([("CC", cc)]);
    let properties = Properties { headers: Some(headers), ..Properties::default() };
    for has_key in [false, true] {
        let mut arguments = arguments([("x-dead-letter-exchange", "amq.direct".into())]);
        if has_key {
            arguments.insert("x-dead-letter-routing-key", "own");
        }
        let (mut bench, channel) = Bench::with_queue(arguments);
        bench.declare(&queue("dead", FieldTable::new())).unwrap();
        for key in ["dead", "own"] {
            let none = FieldTable::new();
            bench.host.bind_queue(ALICE, b"dead", b"amq.direct", key.as_bytes(), &none).unwrap();
        }
        let _ = bench.publish_with("", "q", "1", &properties);
        assert_eq!(bench.drain("dead"), ["1"]);
        assert!(bench.get(channel, "q", false).is_some());
        bench.reject(channel, 1, false, false).unwrap();
        let (letter, _) = bench.get(channel, "dead", true).unwrap();
        assert_eq!(letter.routing_key, if has_key { "own" } else { "q" });
        assert_eq!(letter.headers().get("CC").is_none(), has_key);
        let keys = deaths(&letter)[0].get("routing-keys").unwrap().as_array().unwrap().len();
        assert_eq!(keys, 3);
    }
}

#[test]
fn a_dead_letter_for_an_exchange_that_does_not_exist_is_dropped() {
    let (mut bench, channel) = Bench::with_queue(arguments([("x-dead-letter-exchange", "none".into())]));
    bench.publish_all("q", &["1"]);
    assert!(bench.get(channel, "q", false).is_some());
    bench.reject(channel, 1, false, false).unwrap();
    assert_eq!(bench.host.message_counts(), MessageCounts::default());
}

#[test]
fn what_is_purged_or_deleted_is_no_dead_letter() {
    let (mut bench, _) = with_dead_letters([]);
    bench.publish_all("q", &["1"]);
    assert_eq!(bench.host.purge_queue(ALICE, b"q"), Ok(1));
    bench.publish_all("q", &["2"]);
    assert_eq!(bench.delete("q"), 1);
    assert_eq!(bench.count("dead"), 0);
}

#[test]
fn a_dead_letter_is_delivered_at_once_and_more_than_a_slice_follow() {
    let mut bench = Bench::with(Limits { slice_max: 4, ..Limits::default() });
    let target = [("x-dead-letter-exchange", "".into()), ("x-dead-letter-routing-key", "q".into())];
    bench.declare(&queue("source", arguments(target))).unwrap();
    bench.declare(&queue("q", FieldTable::new())).unwrap();
    let channel = bench.open(ALICE);
    bench.consume_no_ack(channel, "a");
    for number in 0..10 {
        bench.publish_all("source", &[&number.to_string()]);
        assert!(bench.get(channel, "source", false).is_some());
    }
    let last = bench.get(channel, "source", false);
    assert!(last.is_none());
    bench.reject(channel, 0, true, false).unwrap();
    assert_eq!(bench.delivered(), ["a:0", "a:1", "a:2", "a:3"]);
    bench.pass(0);
    assert_eq!(bench.delivered().len(), 6);
    // A deleted queue sends its letters first.
    bench.publish_all("source", &["x", "y", "z", "v", "w"]);
    for _ in 0..5 {
        assert!(bench.get(channel, "source", false).is_some());
    }
    bench.reject(channel, 0, true, false).unwrap();
    bench.delete("source");
    assert_eq!(bench.delivered().len(), 5);
}

#[test]
fn a_consumer_gets_each_dead_letter_before_the_next_one_is_written() {
    let (mut bench, channel) = Bench::with_queue(arguments([("x-max-priority", 3.into())]));
    let to_q = [("x-dead-letter-exchange", "".into()), ("x-dead-letter-routing-key", "q".into())];
    bench.declare(&queue("source", arguments(to_q))).unwrap();
    for (body, priority) in [("1", 2), ("2", 3)] {
        let properties =
            Properties { priority: Some(priority), expiration: Some(b"10"), ..Properties::default() };
        let _ = bench.publish_with("", "source", body, &properties);
        assert!(bench.get(channel, "source", false).is_some());
    }
    let other = bench.open(BOB);
    bench.consume_no_ack(other, "c");
    bench.pass(10);
    bench.host.recover(channel, true, bench.now, &mut bench.said).unwrap();
    assert_eq!(bench.delivered(), ["c:1", "c:2"]);
}
