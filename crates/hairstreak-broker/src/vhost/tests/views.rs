//! Views: each field of each object, and listings in slices while things come and go.

use super::*;
use crate::exchange::ExchangeDeclaration;
use crate::queue::QueueKind;
use crate::view::{BindingInfo, ConsumerInfo, QueueInfo};

/// All that a listing shows, in slices of two positions.
fn listed<T>(mut list: impl FnMut(usize, usize, &mut Vec<T>) -> Option<usize>) -> Vec<T> {
    let (mut all, mut cursor) = (Vec::new(), Some(0));
    while let Some(from) = cursor {
        let before = all.len();
        cursor = list(from, 2, &mut all);
        assert!(all.len() <= before + 2);
    }
    all
}

fn consumers(bench: &Bench) -> Vec<ConsumerInfo> {
    listed(|from, count, into| bench.host.consumer_infos(from, count, into))
}

fn bindings(bench: &Bench) -> Vec<BindingInfo> {
    listed(|from, count, into| bench.host.topology().binding_infos(from, count, into))
}

fn info(bench: &Bench, name: &str) -> QueueInfo {
    bench.host.queue(name.as_bytes()).unwrap()
}

#[test]
fn a_queue_shows_its_declaration_and_its_messages() {
    let given = arguments([("x-max-priority", 4.into())]);
    let (mut bench, channel) = Bench::with_queue(given.clone());
    bench.publish_all("q", &["one", "three"]);
    bench.get(channel, "q", false);
    let shown = info(&bench, "q");
    assert_eq!(shown.unacknowledged_bytes, 3);
    assert_eq!((&*shown.name, shown.is_durable, shown.arguments), (&b"q"[..], false, given.into()));
    assert_eq!((shown.kind, shown.ready, shown.unacknowledged), (QueueKind::Classic, 1, 1));
    assert_eq!((shown.ready_bytes, shown.used_at, shown.owner), (5, bench.now, None));
    assert!(shown.storage.memory_bytes > 0);
    let own = QueueDeclaration { is_exclusive: true, is_auto_delete: true, ..queue("own", arguments([])) };
    bench.declare(&own).unwrap();
    let shown = info(&bench, "own");
    assert_eq!((shown.is_exclusive, shown.is_auto_delete, shown.owner), (true, true, Some(ALICE)));
    bench.declare(&quorum("replicated", arguments([]))).unwrap();
    assert_eq!(info(&bench, "replicated").kind.name(), "quorum");
    assert_eq!(bench.host.queue(b"none"), None);
}

#[test]
fn a_queue_shows_the_time_of_its_first_message() {
    let (mut bench, channel) = Bench::with_queue(arguments([]));
    let publish = |bench: &mut Bench, time| {
        let properties = Properties { timestamp: time, ..Properties::default() };
        assert_eq!(bench.publish_with("", "q", "body", &properties), Published::Routed);
    };
    let time = |bench: &Bench| info(bench, "q").head_timestamp;
    assert_eq!(time(&bench), None);
    publish(&mut bench, Some(300));
    publish(&mut bench, Some(100));
    assert_eq!(time(&bench), Some(300));
    bench.prefetch(channel, 1, false);
    bench.consume(channel, "c");
    // A consumer has the first message, and the second one waits.
    assert_eq!(time(&bench), Some(100));
    publish(&mut bench, Some(200));
    bench.ack(channel, 0, true).unwrap();
    bench.ack(channel, 0, true).unwrap();
    assert_eq!((info(&bench, "q").ready, time(&bench)), (0, Some(200)));
    bench.ack(channel, 0, true).unwrap();
    assert_eq!(time(&bench), None);
    publish(&mut bench, None);
    publish(&mut bench, Some(400));
    assert_eq!(time(&bench), Some(400));

    // The first deliveries of the channel come from another queue.
    let (mut bench, channel) = Bench::with_queue(arguments([]));
    bench.declare(&queue("other", arguments([]))).unwrap();
    bench.publish_all("other", &["1", "2"]);
    bench.get(channel, "other", false);
    bench.get(channel, "other", false);
    bench.consume(channel, "c");
    publish(&mut bench, Some(500));
    assert_eq!((time(&bench), info(&bench, "other").head_timestamp), (Some(500), None));
}

#[test]
fn a_queue_shows_its_special_consumers() {
    let (mut bench, channel) = Bench::with_queue(arguments([("x-single-active-consumer", true.into())]));
    assert_eq!(info(&bench, "q").single_active_consumer, None);
    bench.consume(channel, "first");
    bench.consume(channel, "second");
    assert_eq!(info(&bench, "q").single_active_consumer.as_deref(), Some(&b"first"[..]));
    let active: Vec<bool> = consumers(&bench).iter().map(|consumer| consumer.is_active).collect();
    assert_eq!(active, [true, false]);
    assert!(consumers(&bench)[0].is_of_single_active);
    bench.cancel(channel, "first");
    assert_eq!(info(&bench, "q").single_active_consumer.as_deref(), Some(&b"second"[..]));
    assert_eq!((info(&bench, "q").consumer_count, info(&bench, "q").exclusive_consumer), (1, None));

    let (mut bench, channel) = Bench::with_queue(arguments([]));
    bench.consume_with(channel, "all", true, true, &arguments([])).unwrap();
    assert_eq!(info(&bench, "q").exclusive_consumer.as_deref(), Some(&b"all"[..]));
    assert_eq!(info(&bench, "q").single_active_consumer, None);
}

#[test]
fn a_consumer_shows_what_it_asked_for_and_what_it_has() {
    let (mut bench, _) = Bench::with_queue(arguments([]));
    let channel = bench.host.open_channel(BOB, 7).unwrap();
    bench.prefetch(channel, 3, false);
    let given = arguments([("x-priority", 2.into())]);
    bench.consume_with(channel, "c", false, false, &given).unwrap();
    bench.publish_all("q", &["1", "2", "3", "4"]);
    let shown = consumers(&bench).pop().unwrap();
    assert_eq!((&*shown.tag, &*shown.queue, shown.arguments), (&b"c"[..], &b"q"[..], given.into()));
    assert_eq!((shown.channel, shown.connection, shown.channel_number), (channel, BOB, 7));
    assert_eq!((shown.no_ack, shown.is_exclusive, shown.is_active), (false, false, true));
    assert_eq!((shown.prefetch_count, shown.unacknowledged), (3, 3));
    assert_eq!(bench.host.consumers_of_queue(b"q").len(), 1);
    // A cancelled consumer with deliveries is no longer a consumer.
    bench.cancel(channel, "c");
    assert_eq!(consumers(&bench), []);
    assert_eq!(bench.host.consumer_count(), 0);
}

#[test]
fn the_consumer_of_direct_replies_is_not_shown() {
    let (mut bench, channel) = Bench::with_queue(arguments([]));
    let declaration = ConsumerDeclaration {
        queue: b"amq.rabbitmq.reply-to",
        consumer_tag: b"replies",
        no_ack: true,
        is_exclusive: false,
        arguments: &FieldTable::new(),
    };
    bench.host.consume(channel, &declaration, bench.now, &mut bench.said, |_, _| {}).unwrap();
    assert_eq!(consumers(&bench), []);
}

#[test]
fn a_channel_shows_its_mode_and_its_deliveries() {
    let (mut bench, channel) = Bench::with_queue(arguments([]));
    bench.prefetch(channel, 5, false);
    bench.prefetch(channel, 9, true);
    bench.consume(channel, "c");
    bench.publish_all("q", &["1", "2", "3"]);
    bench.host.hold(channel, 1, false).unwrap();
    let mode = ChannelMode { is_confirming: true, is_transactional: false };
    bench.host.channels_mut().set_mode(channel, mode);
    let shown = bench.host.channels().info(channel).unwrap();
    assert_eq!((shown.connection, shown.number, shown.consumer_count), (ALICE, 1, 1));
    assert_eq!((shown.unacknowledged, shown.uncommitted_acks), (2, 1));
    assert_eq!((shown.prefetch_count, shown.global_prefetch_count), (5, 9));
    assert_eq!((shown.is_flowing, shown.is_confirming, shown.is_transactional), (true, true, false));
    let plain = bench.open(BOB);
    let shown = bench.host.channels().info(plain).unwrap();
    assert_eq!((shown.prefetch_count, shown.global_prefetch_count), (0, 0));
    let all = listed(|from, count, into| bench.host.channels().infos(from, count, into));
    assert_eq!(all.len(), bench.host.channels().count());
    bench.close(plain);
    assert_eq!(bench.host.channels().info(plain), None);
}

#[test]
fn exchanges_are_listed_with_the_default_exchange() {
    let mut bench = Bench::new();
    let declaration = ExchangeDeclaration {
        name: (*b"x").into(),
        kind: (*b"topic").into(),
        is_internal: true,
        arguments: arguments([("alternate-exchange", "amq.fanout".into())]).into(),
        ..ExchangeDeclaration::default()
    };
    bench.host.exchanges_mut().declare(&declaration).unwrap();
    let all = listed(|from, count, into| bench.host.topology().exchange_infos(from, count, into));
    let names: Vec<String> = all.iter().map(|exchange| text(&exchange.name)).collect();
    assert_eq!(names, ["", "amq.direct", "amq.fanout", "amq.topic", "amq.headers", "amq.match", "x"]);
    assert_eq!(all.len(), bench.host.topology().exchange_count());
    let shown = bench.host.topology().exchange(b"x").unwrap();
    assert_eq!((&*shown.kind, shown.is_internal, shown.is_durable), (&b"topic"[..], true, false));
    assert_eq!(shown.arguments, declaration.arguments);
    let default = bench.host.topology().exchange(b"").unwrap();
    assert_eq!((&*default.kind, default.is_durable), (&b"direct"[..], true));
    assert_eq!(bench.host.topology().exchange(b"none"), None);
}

#[test]
fn bindings_are_listed_by_their_ends() {
    let (mut bench, _) = Bench::with_queue(arguments([]));
    let given = arguments([("z", 1.into()), ("a", 2.into())]);
    let none = FieldTable::new();
    for key in ["k1", "k2", "k3"] {
        bench.host.bind_queue(ALICE, b"q", b"amq.direct", key.as_bytes(), &none).unwrap();
    }
    bench.host.bind_queue(ALICE, b"q", b"amq.headers", b"", &given).unwrap();
    bench.host.exchanges_mut().bind_exchange(b"amq.topic", b"amq.direct", b"k4", &none).unwrap();
    let shown = |all: &[BindingInfo]| -> Vec<String> {
        let show = |binding: &BindingInfo| {
            let [source, destination, key] =
                [&binding.source, &binding.destination, &binding.routing_key].map(|name| text(name));
            format!("{source}-{key}-{destination}{}", if binding.is_to_exchange { "!" } else { "" })
        };
        all.iter().map(show).collect()
    };
    let all = bindings(&bench);
    assert_eq!(all.len(), bench.host.topology().binding_count());
    let expected = ["amq.direct-k1-q", "amq.direct-k2-q", "amq.direct-k3-q"];
    assert_eq!(shown(&all)[..3], expected);
    assert_eq!(shown(&all)[3..], ["amq.headers--q", "amq.direct-k4-amq.topic!"]);
    // The arguments are in the order in which they came.
    assert_eq!(all[3].arguments, (&given).into());
    let topology = bench.host.topology();
    let from_direct = listed(|from, count, into| topology.bindings_from(b"amq.direct", from, count, into));
    assert_eq!(shown(&from_direct)[3..], ["amq.direct-k4-amq.topic!"]);
    let to_queue = listed(|from, count, into| topology.bindings_to_queue(b"q", from, count, into));
    assert_eq!(shown(&to_queue), shown(&all[..4]));
    let to_topic = listed(|from, count, into| topology.bindings_to_exchange(b"amq.topic", from, count, into));
    assert_eq!(shown(&to_topic), shown(&all[4..]));
    bench.host.unbind_queue(ALICE, b"q", b"amq.headers", b"", &given).unwrap();
    assert_eq!(bindings(&bench).len(), 4);
}

#[test]
fn a_queue_that_stays_is_listed_once_whatever_comes_and_goes_between_two_slices() {
    let mut bench = Bench::new();
    for number in 0..20 {
        bench.declare(&queue(&format!("stays{number}"), arguments([]))).unwrap();
        bench.declare(&queue(&format!("goes{number}"), arguments([]))).unwrap();
    }
    let (mut all, mut cursor, mut step) = (Vec::new(), Some(0), 0);
    while let Some(from) = cursor {
        cursor = bench.host.queue_infos(from, 3, &mut all);
        if step < 20 {
            bench.delete(&format!("goes{step}"));
            bench.declare(&queue(&format!("new{step}"), arguments([]))).unwrap();
        }
        step += 1;
    }
    let mut stays: Vec<String> = all.iter().map(|queue| text(&queue.name)).collect();
    stays.retain(|name| name.starts_with("stays"));
    stays.sort();
    let mut expected: Vec<String> = (0..20).map(|number| format!("stays{number}")).collect();
    expected.sort();
    assert_eq!(stays, expected);
}

#[test]
fn a_deleted_queue_with_deliveries_is_not_listed() {
    let (mut bench, channel) = Bench::with_queue(arguments([]));
    bench.consume(channel, "c");
    bench.publish_all("q", &["1"]);
    bench.delete("q");
    let all = listed(|from, count, into| bench.host.queue_infos(from, count, into));
    assert_eq!(all, []);
}

/// A binding is found by its ends, its key and its arguments, in any order of the arguments.
#[test]
fn a_binding_is_found_by_all_of_its_fields() {
    let (mut bench, _) = Bench::with_queue(arguments([]));
    let given = |names: [&'static str; 2]| arguments(names.map(|name| (name, name.into())));
    bench.host.bind_queue(ALICE, b"q", b"amq.headers", b"k", &given(["a", "b"])).unwrap();
    bench.host.exchanges_mut().bind_exchange(b"amq.topic", b"amq.fanout", b"", &FieldTable::new()).unwrap();
    let is_bound = |ends: [&[u8]; 2], is_to_exchange, key: &[u8], arguments: FieldTable| {
        let [source, destination] = ends.map(Into::into);
        let (routing_key, arguments) = (key.into(), EncodedTable::from(arguments));
        let binding = BindingInfo { source, destination, is_to_exchange, routing_key, arguments };
        bench.host.topology().is_bound(&binding)
    };
    let queue: [&[u8]; 2] = [b"amq.headers", b"q"];
    let exchanges: [&[u8]; 2] = [b"amq.fanout", b"amq.topic"];
    assert!(is_bound(queue, false, b"k", given(["a", "b"])));
    assert!(is_bound(queue, false, b"k", given(["b", "a"])));
    assert!(is_bound(exchanges, true, b"", FieldTable::new()));
    assert!(!is_bound(queue, false, b"k", given(["a", "c"])));
    assert!(!is_bound(queue, false, b"z", given(["a", "b"])));
    assert!(!is_bound(queue, true, b"k", given(["a", "b"])));
    assert!(!is_bound([b"amq.topic", b"q"], false, b"k", given(["a", "b"])));
    assert!(!is_bound([b"amq.headers", b"nope"], false, b"k", given(["a", "b"])));
    assert!(!is_bound(exchanges, false, b"", FieldTable::new()));
}
