//! Consumers of queues.

use std::sync::Arc;

use hairstreak_broker::vhost::ChannelId;
use hairstreak_broker::view::ConsumerInfo;
use hairstreak_node::definitions::to_json;
use hairstreak_node::node::ConnectionEntry;
use hairstreak_node::operator::connections;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use super::connections::{ConnectionIndex, channel_name, peer_host, peer_port};
use crate::http::call::{Answer, Call};
use crate::http::error::ApiError;
use crate::http::list::{Held, Named};

/// Consumers of the virtual hosts where the user has permissions. A path that names another host has none.
pub(crate) async fn list(call: &Call<'_>) -> Answer {
    let identity = call.identity()?;
    let mut hosts = call.hosts()?;
    if !identity.tags().may_administer() {
        hosts.retain(|host| identity.may_access(host.name()));
    }
    let index = ConnectionIndex::new(call.node());
    let mut rows = Vec::new();
    for host in hosts {
        let vhost: Arc<str> = host.name().into();
        let infos = connections::consumers(call.node(), &vhost).unwrap_or_default();
        rows.extend(infos.into_iter().map(|info| row(call, &index, &vhost, info)));
    }
    let key = |row: &ConsumerRow| (Arc::clone(&row.vhost), row.info.queue.clone(), row.info.tag.clone());
    call.list(Held::sorted_by_key(rows, key)).await
}

/// The consumers of a channel.
pub(super) fn of_channel(
    call: &Call<'_>,
    connection: &ConnectionEntry,
    channel: ChannelId,
) -> Result<Vec<ConsumerRow>, ApiError> {
    let vhost: Arc<str> = (*connection.virtual_host).into();
    let index = ConnectionIndex::new(call.node());
    let infos = connections::consumers(call.node(), &vhost)?.into_iter();
    Ok(infos.filter(|info| info.channel == channel).map(|info| row(call, &index, &vhost, info)).collect())
}

pub(super) fn row(
    call: &Call<'_>,
    index: &ConnectionIndex,
    vhost: &Arc<str>,
    info: ConsumerInfo,
) -> ConsumerRow {
    ConsumerRow {
        vhost: Arc::clone(vhost),
        connection: index.find(vhost, info.connection).cloned(),
        info,
        node_name: Arc::clone(&call.state.about.node_name),
    }
}

/// A consumer of a list.
#[derive(Clone, Debug)]
pub(crate) struct ConsumerRow {
    pub(crate) vhost: Arc<str>,
    pub(crate) info: ConsumerInfo,
    /// `None`: the connection has gone meanwhile.
    pub(crate) connection: Option<Arc<ConnectionEntry>>,
    pub(crate) node_name: Arc<str>,
}

impl Named for ConsumerRow {
    fn name(&self) -> &[u8] {
        &self.info.tag
    }
}

impl ConsumerRow {
    fn channel_details(&self) -> Value {
        let Some(connection) = &self.connection else { return json!({}) };
        json!({
            "name": channel_name(connection, self.info.channel_number),
            "number": self.info.channel_number,
            "user": connection.client.user,
            "connection_name": connection.name,
            "peer_host": peer_host(connection),
            "peer_port": peer_port(connection),
            "node": &*self.node_name,
        })
    }

    /// RabbitMQ's word for the activity of the consumer.
    fn activity(&self) -> &'static str {
        match (self.info.is_of_single_active, self.info.is_active) {
            (false, _) => "up",
            (true, true) => "single_active",
            (true, false) => "waiting",
        }
    }
}

impl Serialize for ConsumerRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let info = &self.info;
        let queue = json!({"name": String::from_utf8_lossy(&info.queue), "vhost": &*self.vhost});
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("consumer_tag", &String::from_utf8_lossy(&info.tag))?;
        map.serialize_entry("queue", &queue)?;
        map.serialize_entry("channel_details", &self.channel_details())?;
        map.serialize_entry("ack_required", &!info.no_ack)?;
        map.serialize_entry("exclusive", &info.is_exclusive)?;
        map.serialize_entry("prefetch_count", &info.prefetch_count)?;
        map.serialize_entry("active", &info.is_active)?;
        map.serialize_entry("activity_status", self.activity())?;
        map.serialize_entry("arguments", &to_json(&info.arguments.decode()))?;
        // No consumer is given up for acknowledging late.
        map.serialize_entry("consumer_timeout", &0)?;
        map.serialize_entry("messages_unacknowledged", &info.unacknowledged)?;
        map.end()
    }
}
