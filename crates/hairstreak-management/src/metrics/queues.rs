//! The metrics of queues: a row for each queue, or their sums.

use std::ops::AddAssign;

use hairstreak_broker::queue::QueueKind;
use hairstreak_broker::stats::QueueStats;
use hairstreak_broker::view::QueueInfo;
use hairstreak_node::node::SharedHost;

use super::exposition::{labels, push_label};
use super::family::{Group, counter, gauge, untyped};
use super::selection::{Registry, Selection};
use super::state::visit;
use super::table::{Block, Table};

/// The figures of a queue, or the sums of all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueueFigures {
    ready: u64,
    unacknowledged: u64,
    ready_bytes: u64,
    unacknowledged_bytes: u64,
    consumer_count: usize,
    memory_bytes: usize,
    pub(super) stats: QueueStats,
}

static COARSE: Group<QueueFigures> = Group {
    name: "queue_coarse_metrics",
    columns: &[
        gauge("queue_messages_ready", "Messages that wait", |queue| queue.ready as f64),
        gauge("queue_messages_unacked", "Messages that are delivered and not settled", |queue| {
            queue.unacknowledged as f64
        }),
        gauge("queue_messages", "Messages that wait, or are delivered and not settled", |queue| {
            (queue.ready + queue.unacknowledged) as f64
        }),
    ],
};

/// A part of the next group.
static CONSUMERS: Group<QueueFigures> = Group {
    name: "queue_consumer_count",
    columns: &[gauge("queue_consumers", "Consumers of the queue", |queue| queue.consumer_count as f64)],
};

static DETAILS: Group<QueueFigures> = Group {
    name: "queue_metrics",
    columns: &[
        gauge("queue_consumers", "Consumers of the queue", |queue| queue.consumer_count as f64),
        gauge("queue_process_memory_bytes", "Memory of the queue without its messages", |queue| {
            queue.memory_bytes as f64
        }),
        gauge("queue_messages_ram", "Messages in memory", |queue| {
            (queue.ready + queue.unacknowledged) as f64
        }),
        gauge("queue_messages_ready_ram", "Messages in memory that wait", |queue| queue.ready as f64),
        gauge(
            "queue_messages_unacked_ram",
            "Messages in memory that are delivered and not settled",
            |queue| queue.unacknowledged as f64,
        ),
        gauge("queue_messages_ram_bytes", "Bytes of the bodies in memory", |queue| queue.bytes() as f64),
        gauge(
            "queue_messages_bytes",
            "Bytes of the bodies that wait, or are delivered and not settled",
            |queue| queue.bytes() as f64,
        ),
        gauge("queue_messages_ready_bytes", "Bytes of the bodies that wait", |queue| {
            queue.ready_bytes as f64
        }),
        gauge(
            "queue_messages_unacked_bytes",
            "Bytes of the bodies that are delivered and not settled",
            |queue| queue.unacknowledged_bytes as f64,
        ),
    ],
};

static DELIVERIES: Group<QueueFigures> = Group {
    name: "queue_delivery_metrics",
    columns: &[
        counter("queue_get_ack_total", "Messages that basic.get took, to be acknowledged", |queue| {
            queue.stats.get as f64
        }),
        counter("queue_get_total", "Messages that basic.get took without acknowledgement", |queue| {
            queue.stats.get_no_ack as f64
        }),
        counter("queue_messages_delivered_ack_total", "Deliveries to consumers that acknowledge", |queue| {
            queue.stats.deliver as f64
        }),
        counter(
            "queue_messages_delivered_total",
            "Deliveries to consumers that do not acknowledge",
            |queue| queue.stats.deliver_no_ack as f64,
        ),
        counter(
            "queue_messages_redelivered_total",
            "Deliveries of messages that were delivered before",
            |queue| queue.stats.redeliver as f64,
        ),
        counter("queue_messages_acked_total", "Deliveries that were acknowledged", |queue| {
            queue.stats.ack as f64
        }),
        counter("queue_get_empty_total", "Calls of basic.get that found no message", |queue| {
            queue.stats.get_empty as f64
        }),
    ],
};

/// RabbitMQ 3 and 4 have different names for the same number.
static PUBLISHED_3: Group<QueueFigures> = Group {
    name: "channel_queue_exchange_metrics",
    columns: &[counter(
        "queue_messages_published_total",
        "Messages that clients published to the queue",
        |queue| queue.stats.publish as f64,
    )],
};
static PUBLISHED_4: Group<QueueFigures> = Group {
    name: "queue_exchange_metrics",
    columns: &[counter(
        "queue_exchange_messages_published_total",
        "Messages that clients published to the queue",
        |queue| queue.stats.publish as f64,
    )],
};

/// Goes with the other metrics of queues.
static INFO: Group<QueueFigures> =
    Group { name: "", columns: &[untyped("queue_info", "The type of the queue", |_| 1.0)] };

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

    /// Whether no metrics of queues are asked for.
    pub(super) fn are_empty(&self) -> bool {
        self.queues.is_empty() && self.published.is_empty()
    }

    /// Adds the queues of a virtual host that are asked for.
    pub(super) async fn add(&mut self, host: &SharedHost, selection: &Selection) {
        let name = host.name().as_bytes();
        visit(
            host,
            |host, from, count, rows| host.queue_infos(from, count, rows),
            |queue: QueueInfo| {
                if selection.has_queue(&queue.name) {
                    self.push(name, &queue);
                }
            },
        )
        .await;
    }

    fn push(&mut self, virtual_host: &[u8], queue: &QueueInfo) {
        let figures = QueueFigures::of(queue);
        let mut own = labels(&[("vhost", virtual_host), ("queue", &queue.name)]);
        self.queues.push(&own, &figures);
        if !self.info.is_empty() {
            push_label(&mut own, "queue_type", type_name(queue.kind).as_bytes());
            push_label(&mut own, "membership", b"leader");
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
            memory_bytes: queue.memory_bytes,
            stats: queue.stats,
        }
    }

    fn bytes(&self) -> u64 {
        self.ready_bytes + self.unacknowledged_bytes
    }

    /// The sums of a virtual host's queues.
    pub(super) async fn sum(host: &SharedHost) -> QueueFigures {
        let mut sum = QueueFigures::default();
        visit(
            host,
            |host, from, count, rows| host.queue_infos(from, count, rows),
            |queue: QueueInfo| sum += QueueFigures::of(&queue),
        )
        .await;
        sum
    }

    /// The sums as a table.
    pub(super) fn table(&self) -> Table<QueueFigures> {
        let groups = [&COARSE, &DETAILS, &DELIVERIES, &PUBLISHED_3, &PUBLISHED_4];
        Table::of_one(Registry::Aggregated.prefix(), groups, self)
    }
}

impl AddAssign for QueueFigures {
    fn add_assign(&mut self, other: QueueFigures) {
        self.ready += other.ready;
        self.unacknowledged += other.unacknowledged;
        self.ready_bytes += other.ready_bytes;
        self.unacknowledged_bytes += other.unacknowledged_bytes;
        self.consumer_count += other.consumer_count;
        self.memory_bytes += other.memory_bytes;
        self.stats += other.stats;
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
