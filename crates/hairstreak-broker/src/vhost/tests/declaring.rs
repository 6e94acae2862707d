//! Declaring: arguments, equivalence, names, exclusive queues.

use hairstreak_wire::amqp::FIELD_COUNT_MAX;

use super::*;

#[test]
fn a_declared_queue_has_its_counts() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.publish_all("q", &["1"]);
    let status = bench.declare(&queue("q", FieldTable::new())).unwrap();
    assert_eq!((&*status.name, status.message_count, status.consumer_count), (b"q" as &[u8], 1, 0));
    bench.consume(channel, "a");
    let status = bench.host.check_queue(BOB, b"q", bench.now).unwrap();
    assert_eq!((status.message_count, status.consumer_count), (0, 1));
}

#[test]
fn a_queue_without_a_name_gets_one() {
    let mut bench = Bench::new();
    let names = [(); 2].map(|()| text(&bench.declare(&queue("", FieldTable::new())).unwrap().name));
    assert!(names.iter().all(|name| name.starts_with("amq.gen-") && name.len() == 30), "{names:?}");
    assert_ne!(names[0], names[1]);
    bench.publish_all(&names[0], &["1"]);
    let reserved = refused(bench.declare(&queue(&names[0], FieldTable::new())));
    let expected = format!("ACCESS_REFUSED - queue name '{}' contains reserved prefix 'amq.*'", names[0]);
    assert_eq!(reserved, expected);
}

#[test]
fn what_does_not_exist_is_not_found() {
    let mut bench = Bench::new();
    let expected = "NOT_FOUND - no queue 'q' in vhost '/'";
    assert_eq!(refused(bench.host.check_queue(ALICE, b"q", 0)), expected);
    assert_eq!(refused(bench.host.purge_queue(ALICE, b"q")), expected);
    let none = FieldTable::new();
    assert_eq!(refused(bench.host.bind_queue(ALICE, b"q", b"amq.direct", b"", &none)), expected);
    assert_eq!(bench.host.unbind_queue(ALICE, b"q", b"amq.direct", b"", &none), Ok(()));
    assert_eq!(bench.delete("q"), 0);
    let channel = bench.open(ALICE);
    let got = bench.host.get(channel, b"q", true, 0, &mut bench.said, |_, _, _| {});
    assert_eq!(refused(got), expected);
}

/// The refusal of a queue `q` with one argument.
fn refused_argument(name: &str, value: FieldValue) -> String {
    let mut bench = Bench::new();
    let result = bench.declare(&queue("q", arguments([(name, value)])));
    result.map_or_else(|refusal| refusal.text, |_| "accepted".to_owned())
}

#[test]
fn arguments_are_checked() {
    let cases: [(&str, FieldValue, &str); 17] = [
        ("x-message-ttl", "10".into(), "\"expected integer, got longstr\""),
        ("x-message-ttl", (-1).into(), "{value_negative,-1}"),
        ("x-message-ttl", 315_360_000_001_i64.into(), "{value_too_large,315360000001}"),
        ("x-expires", 0.into(), "{value_zero,0}"),
        ("x-expires", (-1).into(), "{value_negative,-1}"),
        ("x-expires", true.into(), "\"expected integer, got bool\""),
        ("x-max-length", (-1).into(), "{value_negative,-1}"),
        ("x-max-length-bytes", "1".into(), "\"expected integer, got longstr\""),
        ("x-max-priority", 256.into(), "{max_value_exceeded,256}"),
        ("x-max-priority", (-1).into(), "{value_negative,-1}"),
        ("x-overflow", "drop".into(), "invalid_overflow"),
        ("x-overflow", 1.into(), "{unacceptable_type,signedint}"),
        ("x-queue-mode", "eager".into(), "\"unsupported queue mode 'eager'\""),
        ("x-queue-version", 3.into(), "\"unsupported queue version '3'\""),
        ("x-queue-type", "ring".into(), "\"unsupported queue type 'ring'\""),
        ("x-single-active-consumer", 1.into(), "{unacceptable_type,signedint}"),
        ("x-dead-letter-routing-key", "k".into(), "routing_key_but_no_dlx_defined"),
    ];
    for (name, value, reason) in cases {
        let expected = format!("invalid arg '{name}' for queue 'q' in vhost '/': {reason}");
        assert_eq!(refused_argument(name, value), expected);
    }
    let of_other_kinds =
        "invalid arg 'x-dead-letter-strategy' for queue 'q' in vhost '/' of queue type rabbit_classic_queue";
    assert_eq!(refused_argument("x-dead-letter-strategy", "never".into()), of_other_kinds);
    let no_name = "invalid type 'signedint' for arg 'x-dead-letter-exchange' in queue 'q' in vhost '/'";
    assert_eq!(refused_argument("x-dead-letter-exchange", 1.into()), no_name);
    for (name, value) in
        [("x-queue-mode", "lazy".into()), ("x-unknown", "any".into()), ("x-expires", 1.into())]
    {
        assert_eq!(refused_argument(name, value), "accepted", "{name}");
    }
    let expected = "queue type 'stream' of queue 'q' in vhost '/' is not supported by this broker";
    assert_eq!(refused_argument("x-queue-type", "stream".into()), expected);
    let expected =
        "invalid arg 'x-delivery-limit' for queue 'q' in vhost '/' of queue type rabbit_classic_queue";
    assert_eq!(refused_argument("x-delivery-limit", 1.into()), expected);
}

#[test]
fn quorum_queues_are_durable_and_shared_and_have_names() {
    let mut bench = Bench::new();
    let plain = quorum("q", FieldTable::new());
    let cases = [
        (
            QueueDeclaration { is_durable: false, ..plain.clone() },
            "invalid property 'non-durable' for queue 'q' in vhost '/'",
        ),
        (
            QueueDeclaration { is_auto_delete: true, ..plain.clone() },
            "invalid property 'auto-delete' for queue 'q' in vhost '/'",
        ),
        (
            QueueDeclaration { is_exclusive: true, ..plain.clone() },
            "invalid property 'exclusive-owner' for queue 'q' in vhost '/'",
        ),
        (
            QueueDeclaration { name: Box::default(), ..plain.clone() },
            "Cannot declare a server-named queue for type rabbit_quorum_queue",
        ),
        (
            quorum("q", arguments([("x-max-priority", 1.into())])),
            "invalid arg 'x-max-priority' for queue 'q' in vhost '/' of queue type rabbit_quorum_queue",
        ),
    ];
    for (declaration, expected) in cases {
        assert_eq!(bench.declare(&declaration).unwrap_err().text, expected);
    }
    bench.declare(&plain).unwrap();
}

#[test]
fn a_second_declaration_asks_for_the_same() {
    let mut bench = Bench::new();
    let first = arguments([("x-max-length", 10.into()), ("x-overflow", "reject-publish".into())]);
    let first = queue("q", first);
    bench.declare(&first).unwrap();
    let with = |name: &str, value: FieldValue| {
        let mut changed = first.clone();
        let mut arguments = changed.arguments.decode();
        arguments.insert(name, value);
        changed.arguments = arguments.into();
        changed
    };
    let without = |name: &str| {
        let mut changed = first.clone();
        let mut arguments = changed.arguments.decode();
        arguments.remove(name);
        changed.arguments = arguments.into();
        changed
    };
    let cases = [
        (
            QueueDeclaration { is_durable: true, ..first.clone() },
            "'durable'",
            "received 'true' but current is 'false'",
        ),
        (
            QueueDeclaration { is_auto_delete: true, ..first.clone() },
            "'auto_delete'",
            "received 'true' but current is 'false'",
        ),
        (with("x-max-length", 11.into()), "'x-max-length'", "received '11' but current is '10'"),
        (
            with("x-message-ttl", 5.into()),
            "'x-message-ttl'",
            "received the value '5' of type 'signedint' but current is none",
        ),
        (
            without("x-overflow"),
            "'x-overflow'",
            "received none but current is the value 'reject-publish' of type 'longstr'",
        ),
    ];
    for (declaration, name, difference) in cases {
        let expected =
            format!("PRECONDITION_FAILED - inequivalent arg {name} for queue 'q' in vhost '/': {difference}");
        assert_eq!(refused(bench.declare(&declaration)), expected);
    }
    // The size of an integer, the default type and unknown arguments make no difference.
    bench.declare(&with("x-max-length", 10_i64.into())).unwrap();
    bench.declare(&with("x-queue-type", "classic".into())).unwrap();
    bench.declare(&with("x-unknown", "any".into())).unwrap();
}

#[test]
fn an_exclusive_queue_is_locked_for_others_and_goes_with_its_connection() {
    let mut bench = Bench::new();
    let channel = bench.open(ALICE);
    let exclusive =
        QueueDeclaration { is_exclusive: true, is_durable: true, ..queue("q", FieldTable::new()) };
    bench.declare(&exclusive).unwrap();
    bench.declare(&exclusive).unwrap();
    let expected = "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q' in vhost '/'. It could be \
                    originally declared on another connection or the exclusive property value does not match that of \
                    the original declaration.";
    let shared = QueueDeclaration { is_exclusive: false, ..exclusive.clone() };
    assert_eq!(refused(bench.declare(&shared)), expected);
    let other = bench.open(BOB);
    assert_eq!(refused(bench.host.declare_queue(BOB, &exclusive, 0)), expected);
    assert_eq!(refused(bench.host.check_queue(BOB, b"q", 0)), expected);
    assert_eq!(refused(bench.host.purge_queue(BOB, b"q")), expected);
    let deleted = bench.host.delete_queue(BOB, b"q", false, false, 0, &mut bench.said);
    assert_eq!(refused(deleted), expected);
    assert_eq!(refused(bench.consume_with(other, "b", true, false, &FieldTable::new())), expected);
    // Any connection may publish.
    bench.consume_no_ack(channel, "a");
    bench.publish_all("q", &["1"]);
    bench.disconnect(ALICE);
    assert!(bench.said.cancelled.is_empty());
    assert_eq!(refused(bench.host.check_queue(BOB, b"q", 0)), "NOT_FOUND - no queue 'q' in vhost '/'");
}

#[test]
fn a_shared_queue_cannot_become_exclusive() {
    let (mut bench, _) = Bench::with_queue(FieldTable::new());
    let exclusive = QueueDeclaration { is_exclusive: true, ..queue("q", FieldTable::new()) };
    assert_eq!(bench.declare(&exclusive).unwrap_err().code.name(), "RESOURCE_LOCKED");
}

#[test]
fn queues_have_a_bound() {
    let mut bench = Bench::with(Limits { queues_max: 1, ..Limits::default() });
    bench.declare(&queue("a", FieldTable::new())).unwrap();
    bench.declare(&queue("a", FieldTable::new())).unwrap();
    let expected = "PRECONDITION_FAILED - cannot declare queue 'b': queue limit in vhost '/' (1) is reached";
    assert_eq!(refused(bench.declare(&queue("b", FieldTable::new()))), expected);
}

#[test]
fn channels_have_a_bound() {
    let mut bench = Bench::with(Limits { channels_max: 1, ..Limits::default() });
    let channel = bench.open(ALICE);
    assert_eq!(bench.host.open_channel(ALICE, 2).unwrap_err().code.name(), "RESOURCE_ERROR");
    bench.close(channel);
    bench.open(ALICE);
}

fn set_default(bench: &mut Bench, queue_type: Option<&str>) {
    let default_queue_type = queue_type.map(Into::into);
    bench.host.set_settings(HostSettings { default_queue_type, ..HostSettings::default() });
}

#[test]
fn a_queue_without_a_type_has_that_of_the_virtual_host() {
    let mut bench = Bench::new();
    let durable = |name| QueueDeclaration { is_durable: true, ..queue(name, FieldTable::new()) };
    bench.declare(&durable("before")).unwrap();
    set_default(&mut bench, Some("quorum"));
    bench.declare(&durable("q")).unwrap();
    bench.declare(&durable("q")).unwrap();
    bench.declare(&quorum("q", FieldTable::new())).unwrap();
    let with_type = arguments([("x-queue-type", "classic".into())]);
    bench.declare(&QueueDeclaration { is_durable: true, ..queue("said", with_type.clone()) }).unwrap();
    // A queue whose properties a quorum queue cannot have is a classic queue.
    bench.declare(&queue("transient", FieldTable::new())).unwrap();
    bench.declare(&QueueDeclaration { is_exclusive: true, ..durable("exclusive") }).unwrap();
    bench.declare(&QueueDeclaration { is_auto_delete: true, ..durable("auto-delete") }).unwrap();
    let kind = |name: &str| bench.host.queue(name.as_bytes()).unwrap().kind;
    assert_eq!(
        (kind("before"), kind("q"), kind("said")),
        (QueueKind::Classic, QueueKind::Quorum, QueueKind::Classic)
    );
    for name in ["transient", "exclusive", "auto-delete"] {
        assert_eq!(kind(name), QueueKind::Classic, "{name}");
    }
    let host = &bench.host;
    let type_of = |name: &[u8]| host.queue(name).unwrap().arguments.get("x-queue-type");
    assert_eq!((type_of(b"before"), type_of(b"q")), (None, Some("quorum".into())));
    let other = "PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for queue 'before' in vhost '/': received the value 'quorum' of type 'longstr' but current is none";
    assert_eq!(refused(bench.declare(&durable("before"))), other);
    let no_name = "PRECONDITION_FAILED - Cannot declare a server-named queue for type rabbit_quorum_queue";
    assert_eq!(refused(bench.declare(&durable(""))), no_name);
    set_default(&mut bench, Some("stream"));
    let stream =
        "PRECONDITION_FAILED - queue type 'stream' of queue 's' in vhost '/' is not supported by this broker";
    assert_eq!(refused(bench.declare(&durable("s"))), stream);
    set_default(&mut bench, None);
    bench.declare(&durable("before")).unwrap();
}

#[test]
fn the_default_type_is_not_one_argument_too_many() {
    let mut bench = Bench::new();
    let settings = HostSettings { default_queue_type: Some("classic".into()), ..HostSettings::default() };
    bench.host.set_settings(settings);
    let mut declare = |name: &str, count: usize| {
        let values = vec![FieldValue::Void; count - 1];
        bench.declare(&queue(name, arguments([("a", values.into())]))).map(drop)
    };
    assert_eq!(declare("q", FIELD_COUNT_MAX - 1), Ok(()));
    let expected =
        "PRECONDITION_FAILED - arguments of queue 'r' in vhost '/': a table has more than 65536 fields";
    assert_eq!(refused(declare("r", FIELD_COUNT_MAX)), expected);
}

#[test]
fn dead_letters_have_names_as_long_as_messages_carry_them() {
    let declare = |exchange: usize, key: usize| {
        let text = |size: usize| FieldValue::from(&*"x".repeat(size));
        let names = [("x-dead-letter-exchange", text(exchange)), ("x-dead-letter-routing-key", text(key))];
        Bench::new().declare(&queue("q", arguments(names))).map(drop)
    };
    assert_eq!(declare(255, 255), Ok(()));
    for (exchange, key, name) in
        [(256, 255, "x-dead-letter-exchange"), (255, 256, "x-dead-letter-routing-key")]
    {
        let expected = format!(
            "PRECONDITION_FAILED - invalid arg '{name}' for queue 'q' in vhost '/': 256 bytes, 255 at most may be"
        );
        assert_eq!(refused(declare(exchange, key)), expected);
    }
}
