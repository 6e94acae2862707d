//! The metrics of queues: a row for each queue, or their sums.

use hairstreak_broker::queue::QueueKind;
use hairstreak_broker::stats::{HostStats, QueueStats};
use hairstreak_broker::vhost::VirtualHost;
use hairstreak_broker::view::QueueInfo;
use hairstreak_node::node::SharedHost;

use super::exposition::{Group, group, labels, push_label};
use super::selection::{Registry, Selection};
use super::table::{Block, Table};
use crate::http::{queue_stats, visit};

/// The figures of a queue, or the sums of all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueueFigures {
    ready: u64,
    unacknowledged: u64,
    ready_bytes: u64,
    unacknowledged_bytes: u64,
    consumer_count: usize,
    memory_bytes: usize,
    stats: QueueStats,
}

static COARSE: Group<QueueFigures> = group!("queue_coarse_metrics", |queue| {
    Gauge "queue_messages_ready" "Messages that wait" = queue.ready as f64;
    Gauge "queue_messages_unacked" "Messages that are delivered and not settled" = queue.unacknowledged as f64;
    Gauge "queue_messages" "Messages that wait, or are delivered and not settled" = (queue.ready + queue.unacknowledged) as f64;
});

/// A part of the next group.
static CONSUMERS: Group<QueueFigures> = group!("queue_consumer_count", |queue| {
    Gauge "queue_consumers" "Consumers of the queue" = queue.consumer_count as f64;
});

static DETAILS: Group<QueueFigures> = group!("queue_metrics", |queue| {
    Gauge "queue_consumers" "Consumers of the queue" = queue.consumer_count as f64;
    Gauge "queue_process_memory_bytes" "Memory of the queue without its messages" = queue.memory_bytes as f64;
    Gauge "queue_messages_ram" "Messages in memory" = (queue.ready + queue.unacknowledged) as f64;
    Gauge "queue_messages_ready_ram" "Messages in memory that wait" = queue.ready as f64;
    Gauge "queue_messages_unacked_ram" "Messages in memory that are delivered and not settled" = queue.unacknowledged as f64;
    Gauge "queue_messages_ram_bytes" "Bytes of the bodies in memory" = queue.bytes() as f64;
    Gauge "queue_messages_bytes" "Bytes of the bodies that wait, or are delivered and not settled" = queue.bytes() as f64;
    Gauge "queue_messages_ready_bytes" "Bytes of the bodies that wait" = queue.ready_bytes as f64;
    Gauge "queue_messages_unacked_bytes" "Bytes of the bodies that are delivered and not settled" = queue.unacknowledged_bytes as f64;
});

static DELIVERIES: Group<QueueFigures> = group!("queue_delivery_metrics", |queue| {
    Counter "queue_get_ack_total" "Messages that basic.get took, to be acknowledged" = queue.stats.get as f64;
    Counter "queue_get_total" "Messages that basic.get took without acknowledgement" = queue.stats.get_no_ack as f64;
    Counter "queue_messages_delivered_ack_total" "Deliveries to consumers that acknowledge" = queue.stats.deliver as f64;
    Counter "queue_messages_delivered_total" "Deliveries to consumers that do not acknowledge" = queue.stats.deliver_no_ack as f64;
    Counter "queue_messages_redelivered_total" "Deliveries of messages that were delivered before" = queue.stats.redeliver as f64;
    Counter "queue_messages_acked_total" "Deliveries that were acknowledged" = queue.stats.ack as f64;
    Counter "queue_get_empty_total" "Calls of basic.get that found no message" = queue.stats.get_empty as f64;
});

/// RabbitMQ 3 and 4 have different names for the same number.
static PUBLISHED_3: Group<QueueFigures> = group!("channel_queue_exchange_metrics", |queue| {
    Counter "queue_messages_published_total" "Messages that clients published to the queue" = queue.stats.publish as f64;
});
static PUBLISHED_4: Group<QueueFigures> = group!("queue_exchange_metrics", |queue| {
    Counter "queue_exchange_messages_published_total" "Messages that clients published to the queue" = queue.stats.publish as f64;
});

/// Goes with the other metrics of queues.
static INFO: Group<QueueFigures> = group!("", |_object| {
    Untyped "queue_info" "The type and the durability of the queue" = 1.0;
});

/// The tables of queues.
pub(super) struct QueueTables {
    queues: Table<QueueFigures>,
    published: Table<QueueFigures>,
    info: Table<QueueFigures>,
}

impl QueueTables {
    /// Tables of a series for each queue, without rows.
    pub(super) fn new(selection: &Selection) -> QueueTables {
        let prefix = selection.registry.prefix();
        let groups = groups(selection);
        let info = (!groups.is_empty()).then_some(&INFO);
        QueueTables {
            queues: Table::new(prefix, groups),
            published: Table::new(prefix, selection.pick([&PUBLISHED_3, &PUBLISHED_4])),
            info: Table::new(prefix, info),
        }
    }

    /// Returns `true` if no metrics of queues are asked for.
    pub(super) fn are_empty(&self) -> bool {
        self.queues.is_empty() && self.published.is_empty()
    }

    /// Adds the queues of a virtual host that are asked for.
    pub(super) async fn add(&mut self, host: &SharedHost, selection: &Selection) {
        let mut push = |queue: QueueInfo| {
            if selection.has_queue(&queue.name) {
                self.push(host.name().as_bytes(), &queue);
            }
        };
        visit(host, VirtualHost::queue_infos, |queues| queues.for_each(&mut push)).await;
    }

    fn push(&mut self, virtual_host: &[u8], queue: &QueueInfo) {
        let figures = QueueFigures::of(queue);
        let mut own = labels(&[("vhost", virtual_host), ("queue", &queue.name)]);
        self.queues.push(&own, &figures);
        if !self.info.is_empty() {
            push_label(&mut own, "queue_type", type_name(queue.kind).as_bytes());
            push_label(&mut own, "membership", b"leader");
            push_label(&mut own, "durability", queue.storage.durability.name().as_bytes());
            self.info.push(&own, &figures);
        }
        if !self.published.is_empty() {
            let own = labels(&[("queue_vhost", virtual_host), ("queue", &queue.name)]);
            self.published.push(&own, &figures);
        }
    }

    pub(super) fn into_blocks(self) -> [Box<dyn Block>; 3] {
        [Box::new(self.queues), Box::new(self.published), Box::new(self.info)]
    }
}

impl QueueFigures {
    fn of(queue: &QueueInfo) -> QueueFigures {
        QueueFigures {
            ready: queue.ready,
            unacknowledged: queue.unacknowledged,
            ready_bytes: queue.ready_bytes,
            unacknowledged_bytes: queue.unacknowledged_bytes,
            consumer_count: queue.consumer_count,
            memory_bytes: queue.storage.memory_bytes,
            stats: queue.stats,
        }
    }

    fn bytes(&self) -> u64 {
        self.ready_bytes + self.unacknowledged_bytes
    }

    /// Adds the gauges of a virtual host's queues.
    pub(super) async fn add(&mut self, host: &SharedHost) {
        let mut add = |queue: QueueInfo| {
            self.ready += queue.ready;
            self.unacknowledged += queue.unacknowledged;
            self.ready_bytes += queue.ready_bytes;
            self.unacknowledged_bytes += queue.unacknowledged_bytes;
            self.consumer_count += queue.consumer_count;
            self.memory_bytes += queue.storage.memory_bytes;
        };
        visit(host, VirtualHost::queue_infos, |queues| queues.for_each(&mut add)).await;
    }

    /// The sums as a table. Counters come from `stats`: they do not fall when queues are deleted.
    pub(super) fn table(mut self, stats: &HostStats) -> Table<QueueFigures> {
        self.stats = queue_stats(stats);
        let groups = [&COARSE, &DETAILS, &DELIVERIES, &PUBLISHED_3, &PUBLISHED_4];
        Table::of_one(Registry::Aggregated.prefix(), groups, &self)
    }
}

/// RabbitMQ's name for a type of queues in labels.
pub(super) fn type_name(kind: QueueKind) -> &'static str {
    match kind {
        QueueKind::Classic => "rabbit_classic_queue",
        QueueKind::Quorum => "rabbit_quorum_queue",
    }
}

/// The groups of one label set that are asked for. No family comes twice.
fn groups(selection: &Selection) -> Vec<&'static Group<QueueFigures>> {
    if selection.has_group(DETAILS.name) {
        selection.pick([&COARSE, &DETAILS, &DELIVERIES])
    } else {
        selection.pick([&COARSE, &CONSUMERS, &DELIVERIES])
    }
}
