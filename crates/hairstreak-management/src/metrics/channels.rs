//! The metrics of channels: a row for each channel, or their sums.

use hairstreak_broker::stats::{ChannelStats, HostStats};
use hairstreak_broker::vhost::VirtualHost;
use hairstreak_broker::view::ChannelInfo;
use hairstreak_node::node::{OPERATORS, SharedHost};

use super::exposition::{Group, group, labels};
use super::selection::{Registry, Selection};
use super::table::Table;
use crate::http::{ConnectionIndex, channel_name, channel_stats, visit};

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

static STATE: Group<ChannelFigures> = group!("channel_metrics", |channel| {
    Gauge "channel_consumers" "Consumers of the channel" = channel.consumer_count as f64;
    Gauge "channel_messages_unacked" "Deliveries that the channel has to settle" = channel.unacknowledged as f64;
    Gauge "channel_acks_uncommitted" "Settlements that a transaction holds" = channel.uncommitted_acks as f64;
    Gauge "consumer_prefetch" "Unsettled deliveries that a consumer to come may have" = f64::from(channel.consumer_prefetch);
    Gauge "channel_prefetch" "Unsettled deliveries that all consumers may have together" = f64::from(channel.channel_prefetch);
});

static PUBLISHED: Group<ChannelFigures> = group!("channel_exchange_metrics", |channel| {
    Counter "channel_messages_published_total" "Messages that the client published" = channel.stats.messages.publish as f64;
    Counter "channel_messages_confirmed_total" "Messages that were confirmed" = channel.stats.confirm as f64;
    Counter "channel_messages_unroutable_returned_total" "Messages without a queue that were returned" = channel.stats.return_unroutable as f64;
    Counter "channel_messages_unroutable_dropped_total" "Messages without a queue that were dropped" = channel.stats.drop_unroutable as f64;
});

static TAKEN: Group<ChannelFigures> = group!("channel_queue_metrics", |channel| {
    Counter "channel_get_ack_total" "Messages that basic.get took, to be acknowledged" = channel.stats.messages.get as f64;
    Counter "channel_get_total" "Messages that basic.get took without acknowledgement" = channel.stats.messages.get_no_ack as f64;
    Counter "channel_messages_delivered_ack_total" "Deliveries to consumers that acknowledge" = channel.stats.messages.deliver as f64;
    Counter "channel_messages_delivered_total" "Deliveries to consumers that do not acknowledge" = channel.stats.messages.deliver_no_ack as f64;
    Counter "channel_messages_redelivered_total" "Deliveries of messages that were delivered before" = channel.stats.messages.redeliver as f64;
    Counter "channel_messages_acked_total" "Deliveries that were acknowledged" = channel.stats.messages.ack as f64;
    Counter "channel_get_empty_total" "Calls of basic.get that found no message" = channel.stats.messages.get_empty as f64;
});

static GROUPS: [&Group<ChannelFigures>; 3] = [&STATE, &PUBLISHED, &TAKEN];

/// A table of channels without rows.
pub(super) fn table(selection: &Selection) -> Table<ChannelFigures> {
    Table::new(selection.registry.prefix(), selection.pick(GROUPS))
}

/// A slice of the channels of a virtual host.
fn list(host: &VirtualHost, from: usize, count: usize, rows: &mut Vec<ChannelInfo>) -> Option<usize> {
    host.channels().infos(from, count, rows)
}

/// Adds the channels of a virtual host.
pub(super) async fn add(table: &mut Table<ChannelFigures>, host: &SharedHost, index: &ConnectionIndex) {
    let mut push = |channel: ChannelInfo| {
        let Some(connection) = index.find(host.name(), channel.connection) else { return };
        let name = channel_name(connection, channel.number);
        let labels = labels(&[("channel", name.as_bytes()), ("vhost", host.name().as_bytes())]);
        table.push(&labels, &ChannelFigures::of(&channel));
    };
    visit(host, list, |channels| channels.for_each(&mut push)).await;
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

    /// Adds the gauges of a virtual host's channels.
    pub(super) async fn add(&mut self, host: &SharedHost) {
        let mut add = |channel: ChannelInfo| {
            if channel.connection != OPERATORS {
                self.consumer_count += channel.consumer_count;
                self.unacknowledged += channel.unacknowledged;
                self.uncommitted_acks += channel.uncommitted_acks;
                self.consumer_prefetch += channel.prefetch_count;
                self.channel_prefetch += channel.global_prefetch_count;
            }
        };
        visit(host, list, |channels| channels.for_each(&mut add)).await;
    }

    /// The sums as a table. Counters come from `stats`: they do not fall when channels are closed.
    pub(super) fn table(mut self, stats: &HostStats) -> Table<ChannelFigures> {
        self.stats = channel_stats(stats);
        Table::of_one(Registry::Aggregated.prefix(), GROUPS, &self)
    }
}
