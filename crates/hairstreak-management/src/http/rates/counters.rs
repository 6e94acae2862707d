//! The counters that have rates, and their form in answers.
//!
//! - `MessageCounts`: the counters of messages that queues, channels, virtual hosts and the node have
//! - `Figures`: the values of the whole node that have a history: counters of messages, churn, and the process
//! - `Detail`: the rate of a counter, with samples if a client asks for them
//! - `Counted`: counters in the JSON of an object, each with its rate beside it, as `x` and `x_details`

use hairstreak_broker::stats::{ChannelStats, HostStats, QueueStats};
use hairstreak_broker::view::QueueInfo;
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

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

/// The number of counters of messages.
pub(crate) const MESSAGE_COUNTER_COUNT: usize = Counter::Messages as usize + 1;

/// A value of each counter. Counters that an object does not have are 0.
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

    /// The counters of a virtual host, with the messages in its queues.
    pub(crate) fn of_host(stats: &HostStats, ready: u64, unacknowledged: u64) -> MessageCounts {
        let mut counts = MessageCounts::of_channel(&channel_stats(stats));
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

/// The counters of all channels of a virtual host, closed channels included.
pub(crate) fn channel_stats(stats: &HostStats) -> ChannelStats {
    let mut messages = queue_stats(stats);
    // A queue counts a message for itself; the host counts it once.
    messages.publish = stats.publish;
    let HostStats { confirm, return_unroutable, drop_unroutable, .. } = *stats;
    ChannelStats { messages, confirm, return_unroutable, drop_unroutable }
}

/// The counters of all queues of a virtual host, deleted queues included.
pub(crate) fn queue_stats(stats: &HostStats) -> QueueStats {
    let mut all = stats.classic;
    all += stats.quorum;
    all
}

/// A figure of the node that is no counter of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    ConnectionCreated,
    ConnectionClosed,
    ChannelCreated,
    ChannelClosed,
    QueueDeclared,
    QueueCreated,
    QueueDeleted,
    MemUsed,
    FdUsed,
    SocketsUsed,
    ProcUsed,
    DiskFree,
}

/// The number of figures.
const FIGURE_COUNT: usize = Figure::DiskFree as usize + 1;

/// A value of each counter of messages and of each figure, as [`History`](super::History) keeps them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures(pub(super) [u64; MESSAGE_COUNTER_COUNT + FIGURE_COUNT]);

impl Figure {
    /// The place of the figure in [`Figures`]. Counters of messages stand before the figures.
    pub(crate) fn index(self) -> usize {
        MESSAGE_COUNTER_COUNT + self as usize
    }
}

impl Figures {
    pub(crate) fn add(&mut self, figure: Figure, value: u64) {
        self.0[figure.index()] += value;
    }

    pub(crate) fn get(&self, figure: Figure) -> u64 {
        self.0[figure.index()]
    }

    pub(crate) fn add_messages(&mut self, counts: &MessageCounts) {
        self.0.iter_mut().zip(counts.0).for_each(|(sum, value)| *sum += value);
    }

    pub(crate) fn messages(&self) -> MessageCounts {
        let mut counts = MessageCounts::default();
        counts.0.copy_from_slice(&self.0[..MESSAGE_COUNTER_COUNT]);
        counts
    }
}

/// The object behind `x_details`: `{"rate": 2407.0}`, with `samples`, `avg` and `avg_rate` for a range.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Detail {
    /// Per second, over the last two samples.
    pub(super) rate: f64,
    /// Time in milliseconds since 1970 and value, the latest first. `None`: no range was asked for.
    pub(super) samples: Option<Vec<(u64, u64)>>,
}

#[derive(serde::Serialize)]
struct Sample {
    sample: u64,
    timestamp: u64,
}

impl Detail {
    /// A rate without samples.
    #[cfg(test)]
    pub(crate) fn of_rate(rate: f64) -> Detail {
        Detail { rate, samples: None }
    }

    /// Adds that of another object. Both are of the same range, and so have samples of the same times.
    pub(crate) fn add(&mut self, other: Detail) {
        self.rate += other.rate;
        match (&mut self.samples, other.samples) {
            (Some(samples), Some(others)) => {
                samples.iter_mut().zip(others).for_each(|((_, sum), (_, value))| *sum += value);
            }
            (samples @ None, others) => *samples = others,
            (Some(_), None) => {}
        }
    }

    /// The mean of the samples.
    fn mean(samples: &[(u64, u64)]) -> f64 {
        let sum: f64 = samples.iter().map(|(_, value)| *value as f64).sum();
        sum / samples.len().max(1) as f64
    }

    /// The rate from the first sample to the last.
    fn mean_rate(samples: &[(u64, u64)]) -> f64 {
        match (samples.first(), samples.last()) {
            (Some(last), Some(first)) => rate(*first, *last),
            _ => 0.0,
        }
    }
}

/// The growth per second between two samples.
pub(super) fn rate((from, before): (u64, u64), (to, after): (u64, u64)) -> f64 {
    if to <= from {
        return 0.0;
    }
    (after as f64 - before as f64) * 1000.0 / (to - from) as f64
}

impl Serialize for Detail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Detail", if self.samples.is_some() { 4 } else { 1 })?;
        fields.serialize_field("rate", &self.rate)?;
        if let Some(samples) = &self.samples {
            let list: Vec<Sample> = samples
                .iter()
                .map(|(timestamp, sample)| Sample { sample: *sample, timestamp: *timestamp })
                .collect();
            fields.serialize_field("samples", &list)?;
            fields.serialize_field("avg", &Detail::mean(samples))?;
            fields.serialize_field("avg_rate", &Detail::mean_rate(samples))?;
        }
        fields.end()
    }
}

/// The keys of a counter and of its rate.
pub(crate) type Keys = (&'static str, &'static str);

/// An object of counters: each with its keys, its value and its rate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted(Vec<(Keys, u64, Detail)>);

/// The kind of object, which decides the counters of publishing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatsKind {
    Queue,
    /// A channel, a virtual host, or the node.
    Channel,
}

const PUBLISHED: [(Counter, Keys); 4] = [
    (Counter::Publish, ("publish", "publish_details")),
    (Counter::Confirm, ("confirm", "confirm_details")),
    (Counter::ReturnUnroutable, ("return_unroutable", "return_unroutable_details")),
    (Counter::DropUnroutable, ("drop_unroutable", "drop_unroutable_details")),
];

const DELIVERED: [(Counter, Keys); 8] = [
    (Counter::Get, ("get", "get_details")),
    (Counter::GetNoAck, ("get_no_ack", "get_no_ack_details")),
    (Counter::GetEmpty, ("get_empty", "get_empty_details")),
    (Counter::Deliver, ("deliver", "deliver_details")),
    (Counter::DeliverNoAck, ("deliver_no_ack", "deliver_no_ack_details")),
    (Counter::DeliverGet, ("deliver_get", "deliver_get_details")),
    (Counter::Redeliver, ("redeliver", "redeliver_details")),
    (Counter::Ack, ("ack", "ack_details")),
];

const LENGTHS: [(Counter, Keys); 3] = [
    (Counter::Messages, ("messages", "messages_details")),
    (Counter::Ready, ("messages_ready", "messages_ready_details")),
    (Counter::Unacknowledged, ("messages_unacknowledged", "messages_unacknowledged_details")),
];

impl Counted {
    /// The object `message_stats`. A group of counters is there after the first activity of the group. `detail` gives the rate of a counter.
    pub(crate) fn messages(
        counts: &MessageCounts,
        kind: StatsKind,
        detail: impl Fn(Counter) -> Detail,
    ) -> Counted {
        let published = match kind {
            StatsKind::Queue => &PUBLISHED[..1],
            StatsKind::Channel => &PUBLISHED[..],
        };
        let is_active =
            |group: &&[(Counter, Keys)]| group.iter().any(|(counter, _)| counts.get(*counter) > 0);
        let counters = [published, &DELIVERED].into_iter().filter(is_active).flatten();
        counters.map(|(counter, keys)| (*keys, counts.get(*counter), detail(*counter))).collect()
    }

    /// The messages that there are: `messages`, `messages_ready`, `messages_unacknowledged`.
    pub(crate) fn lengths(counts: &MessageCounts, detail: impl Fn(Counter) -> Detail) -> Counted {
        LENGTHS.iter().map(|(counter, keys)| (*keys, counts.get(*counter), detail(*counter))).collect()
    }

    /// The bytes that connections have received and sent. `detail` gives the rate of the first and of the second.
    pub(crate) fn octets(bytes: [u64; 2], detail: impl Fn(usize) -> Detail) -> Counted {
        let keys = [("recv_oct", "recv_oct_details"), ("send_oct", "send_oct_details")];
        keys.into_iter()
            .zip(bytes)
            .enumerate()
            .map(|(index, (keys, value))| (keys, value, detail(index)))
            .collect()
    }

    /// Adds the numbers of messages that queues have read from disk and written there. Messages live in memory.
    pub(crate) fn add_disk(&mut self) {
        for keys in [("disk_reads", "disk_reads_details"), ("disk_writes", "disk_writes_details")] {
            self.0.push((keys, 0, Detail::default()));
        }
    }

    /// Appends the counters to an object.
    pub(crate) fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.0.iter().try_for_each(|((name, details), value, detail)| {
            map.serialize_entry(name, value)?;
            map.serialize_entry(details, detail)
        })
    }

    /// Appends the key `message_stats` to an object, unless there are no counters.
    pub(crate) fn put_stats<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        if self.0.is_empty() { Ok(()) } else { map.serialize_entry("message_stats", self) }
    }
}

impl FromIterator<(Keys, u64, Detail)> for Counted {
    fn from_iter<I: IntoIterator<Item = (Keys, u64, Detail)>>(counters: I) -> Counted {
        Counted(counters.into_iter().collect())
    }
}

impl Serialize for Counted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2 * self.0.len()))?;
        self.put(&mut map)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stats(published: u64, got_empty: u64, kind: StatsKind) -> serde_json::Value {
        let mut counts = MessageCounts::default();
        counts.0[Counter::Publish as usize] = published;
        counts.0[Counter::GetEmpty as usize] = got_empty;
        serde_json::to_value(Counted::messages(&counts, kind, |_| Detail::default())).unwrap()
    }

    /// The keys of RabbitMQ 3.10.8 for a queue and for a channel.
    #[test]
    fn a_group_of_counters_appears_with_its_first_activity() {
        assert_eq!(stats(0, 0, StatsKind::Queue), json!({}));
        assert_eq!(stats(3, 0, StatsKind::Queue), json!({"publish": 3, "publish_details": {"rate": 0.0}}));
        let channel = stats(3, 0, StatsKind::Channel);
        assert_eq!(channel.as_object().unwrap().len(), 8);
        assert_eq!(channel["drop_unroutable"], 0);
        let got = stats(0, 1, StatsKind::Queue);
        assert_eq!(got.as_object().unwrap().len(), 16);
        assert_eq!((&got["get_empty"], &got["deliver_get"]), (&json!(1), &json!(0)));
    }
}
