//! `MessageStats` and `Lengths`: how many messages an object has handled, and how many there are.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::counted::{Counted, Keys};
use crate::http::rates::{Counter, Detail, MESSAGE_COUNTER_COUNT, MessageCounts, Range, Row};

/// The kind of object, which says what publishing counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatsKind {
    Queue,
    /// A channel, a virtual host, or the node.
    Channel,
}

/// The object `message_stats`. A group of counters is there after the first activity of the group.
#[derive(Clone, Debug)]
pub(crate) struct MessageStats(Counted);

/// The counters of messages that there are: `messages`, `messages_ready`, `messages_unacknowledged`.
#[derive(Clone, Debug)]
pub(crate) struct Lengths(Counted);

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

impl MessageStats {
    /// `detail` gives the rate of a counter.
    pub(crate) fn new(
        counts: &MessageCounts,
        kind: StatsKind,
        detail: impl Fn(Counter) -> Detail,
    ) -> MessageStats {
        let published = match kind {
            StatsKind::Queue => &PUBLISHED[..1],
            StatsKind::Channel => &PUBLISHED[..],
        };
        let mut counted = Counted::default();
        for group in [published, &DELIVERED] {
            if group.iter().any(|(counter, _)| counts.get(*counter) > 0) {
                group.iter().for_each(|(counter, keys)| {
                    counted.add(*keys, counts.get(*counter), detail(*counter));
                });
            }
        }
        MessageStats(counted)
    }

    /// The stats of an object with marks.
    pub(crate) fn of_row(
        counts: &MessageCounts,
        kind: StatsKind,
        row: &Row<MESSAGE_COUNTER_COUNT>,
        range: Option<Range>,
    ) -> MessageStats {
        MessageStats::new(counts, kind, |counter| row.detail(counter as usize, range))
    }

    /// Adds how many messages queues have read from disk and written there. Messages live in memory.
    pub(crate) fn add_disk(&mut self) {
        for keys in [("disk_reads", "disk_reads_details"), ("disk_writes", "disk_writes_details")] {
            self.0.add(keys, 0, Detail::default());
        }
    }

    /// Appends the key `message_stats` to an object, unless nothing has happened.
    pub(crate) fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        if self.0.is_empty() { Ok(()) } else { map.serialize_entry("message_stats", &self.0) }
    }

    /// Appends the key even if nothing has happened.
    pub(crate) fn counted(&self) -> &Counted {
        &self.0
    }
}

impl Lengths {
    /// `detail` gives the rate of a counter.
    pub(crate) fn new(counts: &MessageCounts, detail: impl Fn(Counter) -> Detail) -> Lengths {
        let mut counted = Counted::default();
        LENGTHS.iter().for_each(|(counter, keys)| {
            counted.add(*keys, counts.get(*counter), detail(*counter));
        });
        Lengths(counted)
    }

    /// Appends the keys to an object.
    pub(crate) fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.0.put(map)
    }
}

impl Serialize for Lengths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
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
        let stats = MessageStats::of_row(&counts, kind, &Row::default(), None);
        serde_json::to_value(stats.counted()).unwrap()
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
