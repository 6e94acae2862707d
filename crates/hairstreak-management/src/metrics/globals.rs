//! The counters of the whole node, which RabbitMQ has by protocol and type of queue.

use hairstreak_broker::queue::QueueKind;
use hairstreak_broker::stats::{Deaths, QueueStats};
use hairstreak_node::node::{Received, Totals};

use super::exposition::{Family, Group, Kind, group, labels, push_head, push_label, push_sample};
use super::queues::type_name;
use super::table::{Block, Table};

/// RabbitMQ's name of the protocol.
pub(super) const PROTOCOL: (&str, &[u8]) = ("protocol", b"amqp091");

const PREFIX: &str = "rabbitmq_";

/// The figures of publishers.
pub(super) struct Publishing {
    pub(super) totals: Totals,
    pub(super) publisher_count: u64,
    pub(super) consumer_count: u64,
}

static PUBLISHING: Group<Publishing> = group!("", |node| {
    Counter "global_messages_received_total" "Messages from publishers" = node.totals.received.count as f64;
    Counter "global_messages_received_confirm_total" "Messages from publishers that wait for confirms" = node.totals.received.confirm_count as f64;
    Counter "global_messages_confirmed_total" "Messages that were confirmed" = node.totals.stats.confirm as f64;
    Counter "global_messages_routed_total" "Messages that were routed to queues, once for each queue" = (node.totals.stats.classic.publish + node.totals.stats.quorum.publish) as f64;
    Counter "global_messages_unroutable_dropped_total" "Messages without a queue that were dropped" = node.totals.stats.drop_unroutable as f64;
    Counter "global_messages_unroutable_returned_total" "Messages without a queue that were returned" = node.totals.stats.return_unroutable as f64;
    Gauge "global_publishers" "Channels that have published" = node.publisher_count as f64;
    Gauge "global_consumers" "Consumers of queues" = node.consumer_count as f64;
});

static CONSUMING: Group<QueueStats> = group!("", |stats| {
    Counter "global_messages_delivered_total" "Messages to consumers and to basic.get" = stats.deliver_get() as f64;
    Counter "global_messages_delivered_consume_manual_ack_total" "Deliveries to consumers that acknowledge" = stats.deliver as f64;
    Counter "global_messages_delivered_consume_auto_ack_total" "Deliveries to consumers that do not acknowledge" = stats.deliver_no_ack as f64;
    Counter "global_messages_delivered_get_manual_ack_total" "Messages that basic.get took, to be acknowledged" = stats.get as f64;
    Counter "global_messages_delivered_get_auto_ack_total" "Messages that basic.get took without acknowledgement" = stats.get_no_ack as f64;
    Counter "global_messages_get_empty_total" "Calls of basic.get that found no message" = stats.get_empty as f64;
    Counter "global_messages_redelivered_total" "Deliveries of messages that were delivered before" = stats.redeliver as f64;
    Counter "global_messages_acknowledged_total" "Deliveries that were acknowledged" = stats.ack as f64;
});

static DEAD: Group<Deaths> = group!("", |deaths| {
    Counter "global_messages_dead_lettered_rejected_total" "Messages that were rejected" = deaths.rejected as f64;
    Counter "global_messages_dead_lettered_expired_total" "Messages that expired" = deaths.expired as f64;
    Counter "global_messages_dead_lettered_maxlen_total" "Messages for which a queue was too long" = deaths.max_length as f64;
    Counter "global_messages_dead_lettered_delivery_limit_total" "Messages that came back too often" = deaths.delivery_limit as f64;
});

/// All counters of the node.
pub(super) fn blocks(publishing: Publishing) -> [Box<dyn Block>; 4] {
    let protocol = labels(&[PROTOCOL]);
    let mut published = Table::new(PREFIX, [&PUBLISHING]);
    published.push(&protocol, &publishing);
    let stats = &publishing.totals.stats;
    let mut consumed = Table::new(PREFIX, [&CONSUMING]);
    let mut dead = Table::new(PREFIX, [&DEAD]);
    for (kind, stats) in [(QueueKind::Classic, &stats.classic), (QueueKind::Quorum, &stats.quorum)] {
        let labels = labels(&[PROTOCOL, ("queue_type", type_name(kind).as_bytes())]);
        consumed.push(&labels, stats);
    }
    for (kind, deaths) in
        [(QueueKind::Classic, &stats.classic_deaths), (QueueKind::Quorum, &stats.quorum_deaths)]
    {
        let queue_type = type_name(kind).as_bytes();
        // RabbitMQ's words for queues with and without an exchange for dead letters.
        for (strategy, deaths) in [("at_most_once", &deaths.dead_lettered), ("disabled", &deaths.dropped)] {
            let labels = labels(&[("queue_type", queue_type), ("dead_letter_strategy", strategy.as_bytes())]);
            dead.push(&labels, deaths);
        }
    }
    let sizes = Sizes(Some(publishing.totals.received));
    [Box::new(published), Box::new(consumed), Box::new(dead), Box::new(sizes)]
}

/// The sizes of messages; `None`: written.
struct Sizes(Option<Received>);

const SIZES: Family =
    Family { name: "message_size_bytes", kind: Kind::Histogram, help: "Bytes of the bodies from publishers" };

impl Block for Sizes {
    fn write(&mut self, text: &mut Vec<u8>, _: usize) -> bool {
        let Some(received) = self.0.take() else { return false };
        push_head(text, PREFIX, &SIZES);
        let mut count = 0;
        for (bound, in_bucket) in BOUNDS.iter().zip(received.sizes) {
            count += in_bucket;
            let mut labels = labels(&[PROTOCOL]);
            push_label(&mut labels, "le", bound.as_bytes());
            push_sample(text, PREFIX, "message_size_bytes_bucket", &labels, count as f64);
        }
        let labels = labels(&[PROTOCOL]);
        push_sample(text, PREFIX, "message_size_bytes_count", &labels, count as f64);
        push_sample(text, PREFIX, "message_size_bytes_sum", &labels, received.bytes as f64);
        false
    }
}

/// The upper bounds of the buckets, as RabbitMQ writes them.
const BOUNDS: [&str; 9] =
    ["100.0", "1000.0", "10000.0", "100000.0", "1e+06", "1e+07", "5e+07", "1e+08", "+Inf"];
