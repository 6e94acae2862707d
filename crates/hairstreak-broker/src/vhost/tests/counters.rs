//! Counters, as RabbitMQ 3.10.8 showed them after the same operations. The model also checks deliveries and settlements.

use super::*;
use crate::stats::{ChannelStats, DeathStats, Deaths, ExchangeStats, QueueStats};

impl Bench {
    /// Publishes a message by a channel, and counts it.
    fn publish_by(&mut self, channel: ChannelId, exchange: &str, key: &str, is_mandatory: bool) -> Published {
        let mut route = Route::new();
        let published = self.publish_along(&mut route, exchange, key, "m", &Properties::default());
        self.host.note_published(channel, &route, PublishRun::one(published, is_mandatory));
        published
    }

    fn queue_stats(&self, name: &str) -> QueueStats {
        self.host.queue(name.as_bytes()).unwrap().stats
    }

    fn channel_stats(&self, channel: ChannelId) -> ChannelStats {
        self.host.channels().info(channel).unwrap().stats
    }

    fn exchange_stats(&self, name: &str) -> ExchangeStats {
        self.host.topology().exchange(name.as_bytes()).unwrap().stats
    }
}

#[test]
fn each_way_of_a_message_has_a_counter() {
    let mut bench = Bench::new();
    let channel = bench.open(ALICE);
    for name in ["s1", "s2", "sd"] {
        bench.declare(&queue(name, arguments([]))).unwrap();
    }
    let dead = arguments([("x-dead-letter-exchange", "".into()), ("x-dead-letter-routing-key", "sd".into())]);
    bench.declare(&queue("s3", dead)).unwrap();
    for name in [b"s1", b"s2"] {
        bench.host.bind_queue(ALICE, name, b"amq.fanout", b"", &arguments([])).unwrap();
    }
    (0..5).for_each(|_| assert_eq!(bench.publish_by(channel, "amq.fanout", "", false), Published::Routed));
    (0..2).for_each(|_| assert_eq!(bench.publish_by(channel, "", "s3", false), Published::Routed));
    assert_eq!(bench.publish_by(channel, "", "nowhere", false), Published::Unroutable);
    let take = |bench: &mut Bench, queue| bench.get(channel, queue, false).unwrap().0.tag;
    let tag = take(&mut bench, "s3");
    bench.reject(channel, tag, false, false).unwrap();
    let tag = take(&mut bench, "s3");
    bench.reject(channel, tag, false, true).unwrap();
    let tag = take(&mut bench, "s3");
    bench.ack(channel, tag, false).unwrap();
    assert_eq!(bench.get(channel, "s3", false), None);
    bench.get(channel, "s1", true);
    take(&mut bench, "sd");
    let none = QueueStats::default();
    assert_eq!(bench.queue_stats("s1"), QueueStats { publish: 5, get_no_ack: 1, ..none });
    assert_eq!(bench.queue_stats("s2"), QueueStats { publish: 5, ..none });
    let expected = QueueStats { publish: 2, get: 3, get_empty: 1, redeliver: 1, ack: 1, ..none };
    assert_eq!(bench.queue_stats("s3"), expected);
    // No client published the dead letter.
    assert_eq!(bench.queue_stats("sd"), QueueStats { get: 1, ..none });
    let messages =
        QueueStats { publish: 8, get: 4, get_no_ack: 1, get_empty: 1, redeliver: 1, ack: 1, ..none };
    assert_eq!(
        bench.channel_stats(channel),
        ChannelStats { messages, drop_unroutable: 1, ..ChannelStats::default() }
    );
    assert_eq!(messages.deliver_get(), 5);
    assert_eq!(bench.exchange_stats("amq.fanout"), ExchangeStats { publish_in: 5, publish_out: 10 });
    assert_eq!(bench.exchange_stats(""), ExchangeStats { publish_in: 3, publish_out: 3 });
    assert_eq!(bench.exchange_stats("amq.direct"), ExchangeStats::default());
}

#[test]
fn unroutable_messages_come_back_or_are_dropped_and_confirms_count_on_channels_with_confirms() {
    let mut bench = Bench::new();
    bench
        .declare(&queue(
            "full",
            arguments([("x-max-length", 1.into()), ("x-overflow", "reject-publish".into())]),
        ))
        .unwrap();
    let (plain, confirming) = (bench.open(ALICE), bench.open(BOB));
    let mode = ChannelMode { is_confirming: true, is_transactional: false };
    bench.host.channels_mut().set_mode(confirming, mode);
    for is_mandatory in [true, false] {
        assert_eq!(bench.publish_by(plain, "amq.topic", "k", is_mandatory), Published::Unroutable);
    }
    assert_eq!(bench.publish_by(confirming, "", "full", true), Published::Routed);
    assert_eq!(bench.publish_by(confirming, "", "full", true), Published::Refused);
    assert_eq!(bench.publish_by(confirming, "amq.topic", "k", true), Published::Unroutable);
    let stats = bench.channel_stats(plain);
    assert_eq!((stats.messages.publish, stats.confirm), (2, 0));
    assert_eq!((stats.return_unroutable, stats.drop_unroutable), (1, 1));
    let stats = bench.channel_stats(confirming);
    assert_eq!((stats.messages.publish, stats.confirm), (3, 2));
    assert_eq!((stats.return_unroutable, stats.drop_unroutable), (1, 0));
    // A message that is refused was routed.
    assert_eq!(bench.queue_stats("full").publish, 2);
    let stats = bench.host.stats();
    assert_eq!((stats.publish, stats.publish_confirm, stats.confirm), (5, 3, 2));
    assert_eq!((stats.return_unroutable, stats.drop_unroutable), (2, 1));
}

#[test]
fn a_message_that_names_one_queue_goes_out_whether_or_not_the_queue_is_there() {
    // The further keys, and the number of messages in `publish_out`.
    let rows: [(&str, &[&[u8]], u64); 6] = [
        ("nowhere", &[], 1),
        ("nowhere", &[b"nowhere"], 1),
        ("nowhere", &[b"amq.rabbitmq.reply-to.x"], 1),
        ("nowhere", &[b"elsewhere"], 0),
        ("q", &[b"nowhere", b"elsewhere"], 1),
        ("amq.rabbitmq.reply-to.x", &[], 0),
    ];
    for (key, extra_keys, expected) in rows {
        let (mut bench, channel) = Bench::with_queue(arguments([]));
        let routing = Routing { extra_keys, ..Routing::new(b"", key.as_bytes()) };
        let mut route = Route::new();
        bench.host.resolve(&routing, &mut route).unwrap();
        let run = PublishRun { message_count: 1, refused_count: 0, is_mandatory: false };
        bench.host.note_published(channel, &route, run);
        let stats = ExchangeStats { publish_in: 1, publish_out: expected };
        assert_eq!(bench.exchange_stats(""), stats, "{key} {extra_keys:?}");
    }
    // A transaction names its queue when it publishes, and the queue is deleted before the commit.
    let (mut bench, channel) = Bench::with_queue(arguments([]));
    bench.host.bind_queue(ALICE, b"q", b"amq.direct", b"k", &arguments([])).unwrap();
    let mut route = Route::new();
    bench.host.resolve(&Routing::new(b"amq.direct", b"k"), &mut route).unwrap();
    let mut named = bench.host.name_route(&mut route);
    bench.delete("q");
    bench.host.resolve_names(&mut named, &mut route);
    let run = PublishRun::one(Published::Unroutable, false);
    bench.host.note_published(channel, &route, run);
    assert_eq!(bench.exchange_stats("amq.direct"), ExchangeStats { publish_in: 1, publish_out: 1 });
    assert_eq!(bench.channel_stats(channel).drop_unroutable, 1);
}

#[test]
fn a_run_of_messages_is_counted_at_once() {
    let (mut bench, channel) = Bench::with_queue(arguments([]));
    let mut route = Route::new();
    for body in ["1", "2", "3"] {
        let _ = bench.publish_along(&mut route, "", "q", body, &Properties::default());
    }
    let run = PublishRun { message_count: 3, refused_count: 0, is_mandatory: false };
    bench.host.note_published(channel, &route, run);
    assert_eq!(bench.exchange_stats(""), ExchangeStats { publish_in: 3, publish_out: 3 });
    assert_eq!(bench.channel_stats(channel).messages.publish, 3);
    // The counts of a deleted exchange do not go to another one.
    let declaration = crate::exchange::ExchangeDeclaration {
        name: (*b"x").into(),
        kind: (*b"fanout").into(),
        ..Default::default()
    };
    bench.host.exchanges_mut().declare(&declaration).unwrap();
    bench.host.resolve(&Routing::new(b"x", b""), &mut route).unwrap();
    bench.host.exchanges_mut().delete(b"x", false).unwrap();
    bench.host.note_published(channel, &route, run);
    assert_eq!(bench.exchange_stats(""), ExchangeStats { publish_in: 3, publish_out: 3 });
    assert_eq!(bench.channel_stats(channel).messages.publish, 6);
}

#[test]
fn deliveries_count_by_their_way() {
    let (mut bench, channel) = Bench::with_queue(arguments([]));
    bench.prefetch(channel, 2, false);
    bench.consume(channel, "c");
    bench.publish_all("q", &["1", "2", "3"]);
    bench.reject(channel, 1, false, true).unwrap();
    bench.cancel(channel, "c");
    bench.consume_no_ack(channel, "n");
    let none = QueueStats::default();
    let expected = QueueStats { publish: 3, deliver: 3, deliver_no_ack: 1, redeliver: 1, ..none };
    assert_eq!(bench.queue_stats("q"), expected);
    let expected = QueueStats { publish: 0, ..expected };
    assert_eq!(bench.channel_stats(channel).messages, expected);
    bench.ack(channel, 0, true).unwrap();
    assert_eq!(bench.queue_stats("q").ack, 2);
}

#[test]
fn a_direct_reply_is_no_delivery() {
    let (mut bench, channel) = Bench::with_queue(arguments([]));
    let declaration = ConsumerDeclaration {
        queue: b"amq.rabbitmq.reply-to",
        consumer_tag: b"r",
        no_ack: true,
        is_exclusive: false,
        arguments: &FieldTable::new(),
    };
    bench.host.consume(channel, &declaration, bench.now, &mut bench.said, |_, _| {}).unwrap();
    let address = text(bench.host.channels().reply_address(channel).unwrap());
    assert_eq!(bench.publish_by(channel, "", &address, false), Published::Unroutable);
    assert_eq!(bench.take_deliveries().len(), 1);
    let messages = QueueStats { publish: 1, ..QueueStats::default() };
    let expected = ChannelStats { messages, drop_unroutable: 1, ..ChannelStats::default() };
    assert_eq!(bench.channel_stats(channel), expected);
}

#[test]
fn the_host_counts_queues_and_channels_that_come_and_go() {
    let (mut bench, channel) = Bench::with_queue(arguments([]));
    bench.declare(&queue("q", arguments([]))).unwrap();
    assert!(bench.exists("q"));
    assert!(bench.declare(&queue("amq.q", arguments([]))).is_err());
    bench.publish_all("q", &["1", "2"]);
    bench.consume(channel, "c");
    bench.delete("q");
    bench.ack(channel, 1, false).unwrap();
    bench.close(channel);
    bench.open(BOB);
    let stats = bench.host.stats();
    // A passive declaration counts as none.
    assert_eq!((stats.queues_declared, stats.queues_created, stats.queues_deleted), (2, 1, 1));
    assert_eq!((stats.channels_opened, stats.channels_closed), (2, 1));
    // The counters of a deleted queue stay in the sum.
    let expected = QueueStats { publish: 2, deliver: 2, ack: 1, ..QueueStats::default() };
    assert_eq!((stats.classic, stats.quorum), (expected, QueueStats::default()));
}

#[test]
fn messages_that_die_are_counted_by_the_reason() {
    let mut bench = Bench::new();
    let channel = bench.open(ALICE);
    let letters = ("x-dead-letter-exchange", "amq.fanout".into());
    bench.declare(&queue("short", arguments([("x-max-length", 1.into())]))).unwrap();
    bench.declare(&queue("dead", arguments([letters.clone(), ("x-message-ttl", 10.into())]))).unwrap();
    bench.declare(&quorum("limited", arguments([letters, ("x-delivery-limit", 1.into())]))).unwrap();
    (0..3).for_each(|_| assert_eq!(bench.publish_by(channel, "", "short", false), Published::Routed));
    (0..2).for_each(|_| assert_eq!(bench.publish_by(channel, "", "dead", false), Published::Routed));
    assert_eq!(bench.publish_by(channel, "", "limited", false), Published::Routed);
    let tag = bench.get(channel, "dead", false).unwrap().0.tag;
    bench.reject(channel, tag, false, false).unwrap();
    for _ in 0..2 {
        let tag = bench.get(channel, "limited", false).unwrap().0.tag;
        bench.reject(channel, tag, false, true).unwrap();
    }
    bench.pass(10);
    let stats = bench.host.stats();
    let dead_lettered = Deaths { rejected: 1, expired: 1, ..Deaths::default() };
    let dropped = Deaths { max_length: 2, ..Deaths::default() };
    assert_eq!(stats.classic_deaths, DeathStats { dead_lettered, dropped });
    let dead_lettered = Deaths { delivery_limit: 1, ..Deaths::default() };
    assert_eq!(stats.quorum_deaths, DeathStats { dead_lettered, ..DeathStats::default() });
    let mut twice = stats;
    twice += stats;
    assert_eq!((twice.publish, twice.classic_deaths.dropped.max_length), (12, 4));
}
