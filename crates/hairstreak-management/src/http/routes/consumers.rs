//! Consumers of queues.

use std::sync::Arc;

use hairstreak_broker::vhost::ChannelId;
use hairstreak_broker::view::ConsumerInfo;
use hairstreak_node::node::ConnectionEntry;
use hairstreak_node::operator::connections;

use crate::http::call::{Answer, Call};
use crate::http::error::ApiError;
use crate::http::list::Held;
use crate::http::rows::{ConnectionIndex, ConsumerRow};

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

fn row(call: &Call<'_>, index: &ConnectionIndex, vhost: &Arc<str>, info: ConsumerInfo) -> ConsumerRow {
    ConsumerRow {
        vhost: Arc::clone(vhost),
        connection: index.find(vhost, info.connection).cloned(),
        info,
        node_name: Arc::clone(&call.state.about.node_name),
    }
}
