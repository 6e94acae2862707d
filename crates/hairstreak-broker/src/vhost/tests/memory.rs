//! Memory: it is counted, and it comes back.

use super::*;
use crate::change::Change;
use crate::exchange::ExchangeDeclaration;
use crate::view::BindingInfo;

const MEBIBYTE: usize = 1 << 20;

#[test]
fn memory_grows_with_messages_and_comes_back() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    let before = bench.host.memory_bytes();
    let body = "x".repeat(1_000);
    for _ in 0..20_000 {
        bench.publish_all("q", &[&body]);
    }
    assert!(bench.host.memory_bytes() > before + 20_000_000);
    assert!(bench.host.memory_bytes() < before + 24_000_000);
    while bench.get(channel, "q", true).is_some() {}
    assert!(bench.host.memory_bytes() < before + 7 * MEBIBYTE);
}

#[test]
fn a_message_in_many_queues_is_stored_once() {
    let mut bench = Bench::new();
    for number in 0..10 {
        let name = format!("q{number}");
        bench.declare(&queue(&name, FieldTable::new())).unwrap();
        let none = FieldTable::new();
        bench.host.bind_queue(ALICE, name.as_bytes(), b"amq.fanout", b"", &none).unwrap();
    }
    let body = "x".repeat(1_000);
    for _ in 0..5_000 {
        let _ = bench.publish_with("amq.fanout", "", &body, &Properties::default());
    }
    assert!(bench.host.memory_bytes() < 5_000 * (1_100 + 10 * 24 * 2) + 4 * MEBIBYTE);
    for number in 0..10 {
        assert_eq!(bench.drain(&format!("q{number}")).len(), 5_000);
    }
    assert_eq!(bench.host.parts.store.count(), 0);
}

#[test]
fn single_messages_do_not_keep_the_memory_of_the_others() {
    let (mut bench, _) = Bench::with_queue(FieldTable::new());
    bench.declare(&queue("slow", FieldTable::new())).unwrap();
    let body = "x".repeat(500);
    let mut kept = Vec::new();
    for number in 0..40_000 {
        let body = format!("{number} {body}");
        bench.publish_all("q", &[&body]);
        if number % 100 == 0 {
            bench.publish_all("slow", &[&body]);
            kept.push(body);
        }
    }
    assert!(bench.host.memory_bytes() > 20 * MEBIBYTE);
    assert_eq!(bench.host.purge_queue(ALICE, b"q"), Ok(40_000));
    assert_eq!(bench.count("q"), 0);
    bench.pass(0);
    assert!(bench.host.memory_bytes() < 14 * MEBIBYTE, "{}", bench.host.memory_bytes());
    assert_eq!(bench.drain("slow"), kept);
}

#[test]
fn a_large_body_stays_by_reference_and_a_smaller_one_is_copied() {
    for (size, stays) in [(MEBIBYTE, true), (100_000, false)] {
        let (mut bench, channel) = Bench::with_queue(FieldTable::new());
        let body = hairstreak_base::Bytes::from_vec(vec![b'x'; size]);
        let mut route = Route::new();
        bench.host.resolve(&Routing::new(b"", b"q"), &mut route).unwrap();
        let message = Message {
            exchange: b"",
            routing_key: b"q",
            properties: &[0, 0],
            attributes: Attributes::default(),
            body: BodyView::Shared(&body),
        };
        let before = bench.host.memory_bytes();
        assert_eq!(bench.host.publish(&route, &message, bench.now, &mut bench.said), Published::Routed);
        assert!(bench.host.memory_bytes() >= before + size);
        let take = |_: &mut Said, _: Got, view: &MessageView<'_>| {
            let stored = view.body.as_bytes();
            assert_eq!((stored.len(), stored.as_ptr() == body.as_bytes().as_ptr()), (size, stays));
        };
        assert_eq!(
            bench.host.get(channel, b"q", true, bench.now, &mut bench.said, take),
            Ok(GetOutcome::Taken)
        );
        assert!(bench.host.memory_bytes() < before + size + MEBIBYTE);
    }
}

#[test]
fn a_body_larger_than_a_segment_is_stored() {
    let (mut bench, _) = Bench::with_queue(FieldTable::new());
    let large = "x".repeat(3 * MEBIBYTE);
    bench.publish_all("q", &["before", &large, "after"]);
    assert_eq!(bench.drain("q"), ["before", &large, "after"]);
    assert!(bench.host.memory_bytes() < 3 * MEBIBYTE);
}

#[test]
fn memory_of_entries_and_deliveries_is_counted_exactly() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.consume(channel, "a");
    let at_rest = bench.host.parts.channels.memory_bytes() + bench.host.parts.queues.memory_bytes();
    for number in 0..10_000 {
        bench.publish_all("q", &[&number.to_string()]);
    }
    assert!(bench.host.parts.channels.memory_bytes() >= at_rest.min(10_000 * 40));
    bench.cancel(channel, "a");
    bench.reject(channel, 0, true, true).unwrap();
    bench.pass(0);
    assert!(bench.host.parts.queues.memory_bytes() >= 10_000 * 24);
    assert_eq!(bench.drain("q").len(), 10_000);
    let now = bench.host.parts.channels.memory_bytes() + bench.host.parts.queues.memory_bytes();
    assert!(now < at_rest + 40_000, "{now} after {at_rest}");
}

#[test]
fn deliveries_that_a_transaction_holds_are_counted_until_they_are_settled() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.consume(channel, "a");
    (0..10_000).for_each(|number| bench.publish_all("q", &[&number.to_string()]));
    let before = bench.host.parts.channels.memory_bytes();
    let count = bench.host.hold(channel, 0, true).unwrap();
    assert_eq!(count, 10_000);
    assert!(bench.host.parts.channels.memory_bytes() >= count * 40, "{before} before");
    bench.host.settle_held(channel, count, Settlement::Ack, bench.now, &mut bench.said);
    bench.pass(0);
    let left = bench.host.parts.channels.memory_bytes();
    assert!(left + 10_000 * 40 < before + 10_000, "{left} of {before}");
}

/// An argument of that many bytes.
fn note(size: usize) -> FieldTable {
    arguments([("note", "x".repeat(size).as_str().into())])
}

/// Declares a queue and an exchange, binds a queue, and consumes. The queue and the consumer have arguments of twice the size.
fn declare_each(bench: &mut Bench, channel: ChannelId, name: &str, size: usize) -> [Result<(), Refusal>; 4] {
    let exchange = ExchangeDeclaration {
        name: name.as_bytes().into(),
        kind: (*b"fanout").into(),
        arguments: note(size).into(),
        ..ExchangeDeclaration::default()
    };
    [
        bench.declare(&queue(name, note(2 * size))).map(drop),
        bench.host.exchanges_mut().declare(&exchange),
        bench.host.bind_queue(ALICE, b"q", b"amq.headers", name.as_bytes(), &note(size)),
        bench.consume_with(channel, name, true, false, &note(2 * size)),
    ]
}

/// Removes the objects of `declare_each`.
fn delete_each(bench: &mut Bench, channel: ChannelId, name: &str, size: usize) {
    bench.delete(name);
    bench.host.exchanges_mut().delete(name.as_bytes(), false).unwrap();
    bench.host.unbind_queue(ALICE, b"q", b"amq.headers", name.as_bytes(), &note(size)).unwrap();
    bench.cancel(channel, name);
}

#[test]
fn names_and_arguments_are_counted_and_come_back() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    let before = bench.host.memory_bytes();
    for round in 0..3 {
        declare_each(&mut bench, channel, "a", 100_000).into_iter().for_each(|declared| declared.unwrap());
        let grown = bench.host.memory_bytes() - before;
        assert!((600_000..620_000).contains(&grown), "{grown} in round {round}");
        delete_each(&mut bench, channel, "a", 100_000);
        let left = bench.host.memory_bytes() - before;
        assert!(left < 10_000, "{left} in round {round}");
    }
}

#[test]
fn names_and_arguments_have_a_limit() {
    let mut bench = Bench::with(Limits { declared_bytes_max: 150_000, ..Limits::default() });
    bench.declare(&queue("q", FieldTable::new())).unwrap();
    let channel = bench.open(ALICE);
    declare_each(&mut bench, channel, "a", 100_000).into_iter().for_each(|declared| declared.unwrap());
    // Existing objects may be declared again.
    let [queue_again, exchange_again, bound_again, _] = declare_each(&mut bench, channel, "a", 100_000);
    assert_eq!([queue_again, exchange_again, bound_again], [const { Ok(()) }; 3]);
    let refused = declare_each(&mut bench, channel, "b", 0).map(refused);
    assert_eq!(
        refused,
        [
            "PRECONDITION_FAILED - cannot declare queue 'b': limit of names and arguments of queues in vhost '/' (150000 bytes) is reached",
            "PRECONDITION_FAILED - limit of names, routing keys and arguments of exchanges and bindings (150000 bytes) is reached: exchange 'b' in vhost '/'",
            "PRECONDITION_FAILED - limit of names, routing keys and arguments of exchanges and bindings (150000 bytes) is reached: exchange 'amq.headers' in vhost '/'",
            "PRECONDITION_FAILED - limit of tags and arguments of consumers in vhost '/' (150000 bytes) is reached",
        ]
    );
    let [source, destination] = [(*b"kept").into(), (*b"kept").into()];
    let kept = [
        Change::QueueDeclared(queue("kept", FieldTable::new())),
        Change::ExchangeDeclared(ExchangeDeclaration {
            name: (*b"kept").into(),
            kind: (*b"fanout").into(),
            ..ExchangeDeclaration::default()
        }),
        Change::Bound(BindingInfo { source, destination, ..BindingInfo::default() }),
    ];
    kept.iter().for_each(|change| bench.host.restore(change, bench.now).unwrap());
    delete_each(&mut bench, channel, "a", 100_000);
    declare_each(&mut bench, channel, "b", 100_000).into_iter().for_each(|declared| declared.unwrap());
}
