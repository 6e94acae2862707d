//! Memory: it is counted, and it comes back.

use super::*;

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
        assert_eq!(bench.host.get(channel, b"q", true, bench.now, &mut bench.said, take), Ok(true));
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
