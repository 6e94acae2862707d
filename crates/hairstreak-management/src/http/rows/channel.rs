//! `ChannelRow`: a channel.

use std::sync::Arc;

use hairstreak_broker::view::ChannelInfo;
use hairstreak_node::node::ConnectionEntry;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::connection::Owner;
use super::message_stats::{MessageStats, StatsKind};
use crate::http::list::Named;
use crate::http::rates::{MESSAGE_COUNTER_COUNT, MessageCounts, Range, Row};

/// A channel of a list.
#[derive(Clone, Debug)]
pub(crate) struct ChannelRow {
    pub(crate) name: Box<str>,
    pub(crate) connection: Arc<ConnectionEntry>,
    pub(crate) info: ChannelInfo,
    pub(crate) node_name: Arc<str>,
    pub(crate) rates: Row<MESSAGE_COUNTER_COUNT>,
    pub(crate) range: Option<Range>,
}

/// The name of a channel: that of the connection, and the number.
pub(crate) fn channel_name(connection: &ConnectionEntry, number: u16) -> String {
    format!("{} ({number})", connection.name)
}

impl Named for ChannelRow {
    fn name(&self) -> &[u8] {
        self.name.as_bytes()
    }
}

impl Serialize for ChannelRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (info, connection) = (&self.info, &self.connection);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("number", &info.number)?;
        map.serialize_entry("vhost", &connection.virtual_host)?;
        map.serialize_entry("user", &connection.client.user)?;
        map.serialize_entry("user_who_performed_action", &connection.client.user)?;
        map.serialize_entry("node", &*self.node_name)?;
        map.serialize_entry("state", if info.is_flowing { "running" } else { "flow" })?;
        map.serialize_entry("client_flow_blocked", &!info.is_flowing)?;
        map.serialize_entry("confirm", &info.is_confirming)?;
        map.serialize_entry("transactional", &info.is_transactional)?;
        map.serialize_entry("consumer_count", &info.consumer_count)?;
        map.serialize_entry("messages_unacknowledged", &info.unacknowledged)?;
        map.serialize_entry("messages_unconfirmed", &0)?;
        map.serialize_entry("messages_uncommitted", &0)?;
        map.serialize_entry("acks_uncommitted", &info.uncommitted_acks)?;
        map.serialize_entry("pending_raft_commands", &0)?;
        map.serialize_entry("prefetch_count", &info.prefetch_count)?;
        map.serialize_entry("global_prefetch_count", &info.global_prefetch_count)?;
        map.serialize_entry("connection_details", &Owner(Arc::clone(connection)))?;
        let counts = MessageCounts::of_channel(&info.stats);
        MessageStats::of_row(&counts, StatsKind::Channel, &self.rates, self.range).put(&mut map)?;
        map.end()
    }
}
