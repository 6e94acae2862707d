//! Channels: lists and single ones.

use std::sync::Arc;

use hairstreak_broker::view::ChannelInfo;
use hairstreak_node::node::ConnectionEntry;
use hairstreak_node::operator::connections;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::json;

use super::connections::{ConnectionIndex, Owner, channel_name, check_vhost, find, may_see, sees};
use super::consumers;
use crate::http::call::{Answer, Call};
use crate::http::error::ApiError;
use crate::http::list::{Held, Named, Range};
use crate::http::rates::{Counted, MESSAGE_COUNTER_COUNT, MessageCounts, Row, StatsKind};

pub(crate) async fn list(call: &Call<'_>) -> Answer {
    check_vhost(call)?;
    let mut rows = all(call)?;
    if let Some(vhost) = call.vhost_name() {
        rows.retain(|row| &*row.connection.virtual_host == vhost);
    }
    let identity = call.identity()?;
    rows.retain(|row| sees(identity, &row.connection));
    answer(call, rows).await
}

/// The channels of the connection in the path.
pub(crate) async fn list_of_connection(call: &Call<'_>) -> Answer {
    let connection = find(call)?;
    may_see(call, &connection)?;
    let channels = connections::channels(call.node(), &connection.virtual_host).unwrap_or_default();
    let own = channels.into_iter().filter(|info| info.connection == connection.id);
    let index = ConnectionIndex::new(call.node());
    let rows = own.filter_map(|info| row(call, &index, &connection.virtual_host, info).transpose());
    answer(call, rows.collect::<Result<_, _>>()?).await
}

pub(crate) async fn show(call: &Call<'_>) -> Answer {
    let name = call.bytes("channel");
    let row = all(call)?.into_iter().find(|row| row.name.as_bytes() == name);
    let row = row.ok_or_else(ApiError::not_found)?;
    may_see(call, &row.connection)?;
    let mut value = serde_json::to_value(&row).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        let consumers = consumers::of_channel(call, &row.connection, row.info.id)?;
        fields.insert("consumer_details".into(), json!(consumers));
        fields.insert("publishes".into(), json!([]));
        fields.insert("deliveries".into(), json!([]));
    }
    call.object(&value)
}

/// All channels of all virtual hosts.
fn all(call: &Call<'_>) -> Result<Vec<ChannelRow>, ApiError> {
    let index = ConnectionIndex::new(call.node());
    let mut rows = Vec::new();
    for host in call.node().hosts.all() {
        for info in connections::channels(call.node(), host.name()).unwrap_or_default() {
            rows.extend(row(call, &index, host.name(), info)?);
        }
    }
    Ok(rows)
}

/// `None`: the connection has gone meanwhile.
fn row(
    call: &Call<'_>,
    index: &ConnectionIndex,
    vhost: &str,
    info: ChannelInfo,
) -> Result<Option<ChannelRow>, ApiError> {
    let Some(connection) = index.find(vhost, info.connection) else { return Ok(None) };
    Ok(Some(ChannelRow {
        name: channel_name(connection, info.number).into(),
        connection: Arc::clone(connection),
        node_name: Arc::clone(&call.state.about.node_name),
        rates: call.state.rates.lock().channel(vhost, info.id),
        range: call.ranges()?.messages,
        info,
    }))
}

async fn answer(call: &Call<'_>, rows: Vec<ChannelRow>) -> Answer {
    let key = |row: &ChannelRow| {
        (row.connection.virtual_host.clone(), row.connection.name.clone(), row.info.number)
    };
    call.list(Held::sorted_by_key(rows, key)).await
}

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
        let detail = |counter| self.rates.detail(counter as usize, self.range);
        Counted::messages(&counts, StatsKind::Channel, detail).put_stats(&mut map)?;
        map.end()
    }
}
