//! The metrics of channels: a row for each channel, or their sums.

use std::ops::AddAssign;

use hairstreak_broker::stats::{ChannelStats, HostStats};
use hairstreak_broker::view::ChannelInfo;
use hairstreak_node::node::{OPERATORS, SharedHost};

use super::connections::ConnectionNames;
use super::exposition::labels;
use super::family::{Group, counter, gauge};
use super::selection::{Registry, Selection};
use super::state::visit;
use super::table::Table;

/// The figures of a channel, or the sums of all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChannelFigures {
    consumer_count: usize,
    unacknowledged: usize,
    uncommitted_acks: usize,
    consumer_prefetch: u32,
    channel_prefetch: u32,
    stats: ChannelStats,
}

static STATE: Group<ChannelFigures> = Group {
    name: "channel_metrics",
    columns: &[
        gauge("channel_consumers", "Consumers of the channel", |channel| channel.consumer_count as f64),
        gauge("channel_messages_unacked", "Deliveries that the channel has to settle", |channel| {
            channel.unacknowledged as f64
        }),
        gauge("channel_acks_uncommitted", "Settlements that a transaction holds", |channel| {
            channel.uncommitted_acks as f64
        }),
        gauge("consumer_prefetch", "Unsettled deliveries that a consumer to come may have", |channel| {
            f64::from(channel.consumer_prefetch)
        }),
        gauge("channel_prefetch", "Unsettled deliveries that all consumers may have together", |channel| {
            f64::from(channel.channel_prefetch)
        }),
    ],
};

static PUBLISHED: Group<ChannelFigures> = Group {
    name: "channel_exchange_metrics",
    columns: &[
        counter("channel_messages_published_total", "Messages that the client published", |channel| {
            channel.stats.messages.publish as f64
        }),
        counter("channel_messages_confirmed_total", "Messages that were confirmed", |channel| {
            channel.stats.confirm as f64
        }),
        counter(
            "channel_messages_unroutable_returned_total",
            "Messages without a queue that were returned",
            |channel| channel.stats.return_unroutable as f64,
        ),
        counter(
            "channel_messages_unroutable_dropped_total",
            "Messages without a queue that were dropped",
            |channel| channel.stats.drop_unroutable as f64,
        ),
    ],
};

static TAKEN: Group<ChannelFigures> = Group {
    name: "channel_queue_metrics",
    columns: &[
        counter("channel_get_ack_total", "Messages that basic.get took, to be acknowledged", |channel| {
            channel.stats.messages.get as f64
        }),
        counter("channel_get_total", "Messages that basic.get took without acknowledgement", |channel| {
            channel.stats.messages.get_no_ack as f64
        }),
        counter(
            "channel_messages_delivered_ack_total",
            "Deliveries to consumers that acknowledge",
            |channel| channel.stats.messages.deliver as f64,
        ),
        counter(
            "channel_messages_delivered_total",
            "Deliveries to consumers that do not acknowledge",
            |channel| channel.stats.messages.deliver_no_ack as f64,
        ),
        counter(
            "channel_messages_redelivered_total",
            "Deliveries of messages that were delivered before",
            |channel| channel.stats.messages.redeliver as f64,
        ),
        counter("channel_messages_acked_total", "Deliveries that were acknowledged", |channel| {
            channel.stats.messages.ack as f64
        }),
        counter("channel_get_empty_total", "Calls of basic.get that found no message", |channel| {
            channel.stats.messages.get_empty as f64
        }),
    ],
};

/// A table of channels without rows.
pub(super) fn table(selection: &Selection) -> Table<ChannelFigures> {
    Table::new(selection.registry.prefix(), selection.pick([&STATE, &PUBLISHED, &TAKEN]))
}

/// Adds the channels of a virtual host.
pub(super) async fn add(table: &mut Table<ChannelFigures>, host: &SharedHost, names: &ConnectionNames) {
    let push = |channel: ChannelInfo| {
        let Some(connection) = names.find(host.name(), channel.connection) else { return };
        // As the management API names channels.
        let name = format!("{connection} ({})", channel.number);
        let labels = labels(&[("channel", name.as_bytes()), ("vhost", host.name().as_bytes())]);
        table.push(&labels, &ChannelFigures::of(&channel));
    };
    visit(host, |host, from, count, rows| host.channels().infos(from, count, rows), push).await;
}

impl ChannelFigures {
    fn of(channel: &ChannelInfo) -> ChannelFigures {
        ChannelFigures {
            consumer_count: channel.consumer_count,
            unacknowledged: channel.unacknowledged,
            uncommitted_acks: channel.uncommitted_acks,
            consumer_prefetch: channel.prefetch_count,
            channel_prefetch: channel.global_prefetch_count,
            stats: channel.stats,
        }
    }

    /// The sums of a virtual host's channels.
    pub(super) async fn sum(host: &SharedHost) -> ChannelFigures {
        let mut sum = ChannelFigures::default();
        let add = |channel: ChannelInfo| {
            if channel.connection != OPERATORS {
                sum += ChannelFigures::of(&channel);
            }
        };
        visit(host, |host, from, count, rows| host.channels().infos(from, count, rows), add).await;
        sum
    }

    /// The sums as a table. Counters are those of `stats`: they do not fall when channels are closed.
    pub(super) fn table(mut self, stats: &HostStats) -> Table<ChannelFigures> {
        let mut messages = stats.classic;
        messages += stats.quorum;
        messages.publish = stats.publish;
        self.stats = ChannelStats {
            messages,
            confirm: stats.confirm,
            return_unroutable: stats.return_unroutable,
            drop_unroutable: stats.drop_unroutable,
        };
        Table::of_one(Registry::Aggregated.prefix(), [&STATE, &PUBLISHED, &TAKEN], &self)
    }
}

impl AddAssign for ChannelFigures {
    /// Sums the gauges. Counters of channels are not summed.
    fn add_assign(&mut self, other: ChannelFigures) {
        self.consumer_count += other.consumer_count;
        self.unacknowledged += other.unacknowledged;
        self.uncommitted_acks += other.uncommitted_acks;
        self.consumer_prefetch += other.consumer_prefetch;
        self.channel_prefetch += other.channel_prefetch;
    }
}
