//! `MessageCounts`: the counters of messages that queues, channels, virtual hosts and the node have.

use std::ops::AddAssign;

use hairstreak_broker::stats::{ChannelStats, HostStats, QueueStats};
use hairstreak_broker::view::QueueInfo;

/// A counter of messages, with RabbitMQ's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    Publish,
    Confirm,
    ReturnUnroutable,
    DropUnroutable,
    Deliver,
    DeliverNoAck,
    Get,
    GetNoAck,
    GetEmpty,
    DeliverGet,
    Redeliver,
    Ack,
    Ready,
    Unacknowledged,
    Messages,
}

/// How many counters of messages there are.
pub(crate) const MESSAGE_COUNTER_COUNT: usize = Counter::Messages as usize + 1;

/// A value of each counter. Those that an object does not have are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageCounts(pub(crate) [u64; MESSAGE_COUNTER_COUNT]);

impl MessageCounts {
    pub(crate) fn of_queue(queue: &QueueInfo) -> MessageCounts {
        let mut counts = MessageCounts::of_stats(&queue.stats);
        counts.set_lengths(queue.ready, queue.unacknowledged);
        counts
    }

    pub(crate) fn of_channel(stats: &ChannelStats) -> MessageCounts {
        let mut counts = MessageCounts::of_stats(&stats.messages);
        counts.set(Counter::Confirm, stats.confirm);
        counts.set(Counter::ReturnUnroutable, stats.return_unroutable);
        counts.set(Counter::DropUnroutable, stats.drop_unroutable);
        counts
    }

    /// Those of a virtual host, with the messages in its queues.
    pub(crate) fn of_host(stats: &HostStats, ready: u64, unacknowledged: u64) -> MessageCounts {
        let mut all = stats.classic;
        all += stats.quorum;
        // A queue counts a message for itself; the host counts it once.
        all.publish = stats.publish;
        let mut counts = MessageCounts::of_stats(&all);
        counts.set(Counter::Confirm, stats.confirm);
        counts.set(Counter::ReturnUnroutable, stats.return_unroutable);
        counts.set(Counter::DropUnroutable, stats.drop_unroutable);
        counts.set_lengths(ready, unacknowledged);
        counts
    }

    fn of_stats(stats: &QueueStats) -> MessageCounts {
        let mut counts = MessageCounts::default();
        counts.set(Counter::Publish, stats.publish);
        counts.set(Counter::Deliver, stats.deliver);
        counts.set(Counter::DeliverNoAck, stats.deliver_no_ack);
        counts.set(Counter::Get, stats.get);
        counts.set(Counter::GetNoAck, stats.get_no_ack);
        counts.set(Counter::GetEmpty, stats.get_empty);
        counts.set(Counter::DeliverGet, stats.deliver_get());
        counts.set(Counter::Redeliver, stats.redeliver);
        counts.set(Counter::Ack, stats.ack);
        counts
    }

    fn set_lengths(&mut self, ready: u64, unacknowledged: u64) {
        self.set(Counter::Ready, ready);
        self.set(Counter::Unacknowledged, unacknowledged);
        self.set(Counter::Messages, ready + unacknowledged);
    }

    fn set(&mut self, counter: Counter, value: u64) {
        self.0[counter as usize] = value;
    }

    pub(crate) fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize]
    }
}

impl AddAssign for MessageCounts {
    fn add_assign(&mut self, other: MessageCounts) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, value)| *sum += value);
    }
}
