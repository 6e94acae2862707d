//! `QueueRow`: a queue.
//!
//! - `timestamp`: a time as RabbitMQ writes it, such as `2026-11-25T16:06:09.387+00:00`.

use std::sync::Arc;

use hairstreak_broker::queue::QueueKind;
use hairstreak_broker::view::QueueInfo;
use hairstreak_node::definitions::to_json;
use jiff::Timestamp;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::json;

use super::connection::Owner;
use super::message_stats::{Lengths, MessageStats, StatsKind};
use crate::http::rates::{MESSAGE_COUNTER_COUNT, MessageCounts, Ranges, Row};

/// The parts of a queue that a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// `disable_stats=true`: as it was declared.
    Declaration,
    /// With `enable_queue_totals=true`: also the numbers of messages.
    Totals,
    Everything,
}

/// A queue of a list.
#[derive(Clone, Debug)]
pub(crate) struct QueueRow {
    pub(crate) node_name: Arc<str>,
    pub(crate) vhost: Arc<str>,
    pub(crate) info: QueueInfo,
    pub(crate) rates: Row<MESSAGE_COUNTER_COUNT>,
    pub(crate) ranges: Ranges,
    pub(crate) owner: Option<Owner>,
    pub(crate) shown: Shown,
    /// The node's milliseconds.
    pub(crate) now: u64,
}

impl QueueRow {
    fn put_declaration<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let info = &self.info;
        map.serialize_entry("name", &String::from_utf8_lossy(&info.name))?;
        map.serialize_entry("vhost", &*self.vhost)?;
        map.serialize_entry("type", info.kind.name())?;
        map.serialize_entry("durable", &info.is_durable)?;
        map.serialize_entry("auto_delete", &info.is_auto_delete)?;
        map.serialize_entry("exclusive", &info.is_exclusive)?;
        map.serialize_entry("arguments", &to_json(&info.arguments.decode()))?;
        map.serialize_entry("node", &*self.node_name)?;
        map.serialize_entry("state", "running")?;
        if info.kind == QueueKind::Quorum { self.put_members(map) } else { Ok(()) }
    }

    /// The nodes of a quorum queue: this node alone.
    fn put_members<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("leader", &*self.node_name)?;
        map.serialize_entry("members", &[&*self.node_name])?;
        map.serialize_entry("online", &[&*self.node_name])
    }

    fn put_totals<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("messages", &(self.info.ready + self.info.unacknowledged))?;
        map.serialize_entry("messages_ready", &self.info.ready)?;
        map.serialize_entry("messages_unacknowledged", &self.info.unacknowledged)
    }

    fn put_lengths<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let info = &self.info;
        let counts = MessageCounts::of_queue(info);
        Lengths::new(&counts, |counter| self.rates.detail(counter as usize, self.ranges.lengths)).put(map)?;
        map.serialize_entry("messages_ram", &(info.ready + info.unacknowledged))?;
        map.serialize_entry("messages_ready_ram", &info.ready)?;
        map.serialize_entry("messages_unacknowledged_ram", &info.unacknowledged)?;
        map.serialize_entry("messages_persistent", &0)?;
        map.serialize_entry("messages_paged_out", &0)?;
        let bytes = info.ready_bytes + info.unacknowledged_bytes;
        map.serialize_entry("message_bytes", &bytes)?;
        map.serialize_entry("message_bytes_ready", &info.ready_bytes)?;
        map.serialize_entry("message_bytes_unacknowledged", &info.unacknowledged_bytes)?;
        map.serialize_entry("message_bytes_ram", &bytes)?;
        map.serialize_entry("message_bytes_persistent", &0)?;
        map.serialize_entry("message_bytes_paged_out", &0)?;
        map.serialize_entry("head_message_timestamp", &info.head_timestamp)?;
        map.serialize_entry("memory", &info.memory_bytes)?;
        if self.rates.is_still() {
            map.serialize_entry("idle_since", &timestamp(info.used_at))?;
        }
        MessageStats::of_row(&counts, StatsKind::Queue, &self.rates, self.ranges.messages).put(map)
    }

    fn put_consumers<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let info = &self.info;
        let tag = |tag: &Option<Box<[u8]>>| tag.as_ref().map(|tag| String::from_utf8_lossy(tag).into_owned());
        map.serialize_entry("consumers", &info.consumer_count)?;
        map.serialize_entry("exclusive_consumer_tag", &tag(&info.exclusive_consumer))?;
        map.serialize_entry("single_active_consumer_tag", &tag(&info.single_active_consumer))?;
        let capacity = if info.consumer_count == 0 { 0.0 } else { info.capacity.at(self.now) };
        map.serialize_entry("consumer_capacity", &capacity)?;
        map.serialize_entry("consumer_utilisation", &capacity)?;
        if let Some(owner) = &self.owner {
            map.serialize_entry("owner_pid_details", owner)?;
        }
        Ok(())
    }

    fn put_policies<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("policy", &self.info.policies.user)?;
        map.serialize_entry("operator_policy", &self.info.policies.operator)?;
        map.serialize_entry("effective_policy_definition", &to_json(&self.info.policies.effective))?;
        map.serialize_entry("garbage_collection", &json!({}))?;
        map.serialize_entry("storage_version", &1)
    }
}

impl Serialize for QueueRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.put_declaration(&mut map)?;
        match self.shown {
            Shown::Declaration => {}
            Shown::Totals => self.put_totals(&mut map)?,
            Shown::Everything => {
                self.put_lengths(&mut map)?;
                self.put_consumers(&mut map)?;
                self.put_policies(&mut map)?;
            }
        }
        map.end()
    }
}

/// The text of a time in milliseconds since 1970, in UTC.
pub(crate) fn timestamp(ms: u64) -> String {
    let at = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.unwrap_or(Timestamp::MAX).strftime("%Y-%m-%dT%H:%M:%S%.3f+00:00").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_of_the_calendar() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000+00:00"),
            (951_782_399_999, "2000-02-28T23:59:59.999+00:00"),
            (951_782_400_000, "2000-02-29T00:00:00.000+00:00"),
            (951_868_800_000, "2000-03-01T00:00:00.000+00:00"),
            (1_795_622_769_387, "2026-11-25T16:06:09.387+00:00"),
            (4_107_542_399_000, "2100-02-28T23:59:59.000+00:00"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000+00:00"),
        ] {
            assert_eq!(timestamp(ms), text);
        }
    }
}
