//! Channels: lists and single ones.

use std::sync::Arc;

use hairstreak_broker::view::ChannelInfo;
use hairstreak_node::operator::connections;
use serde_json::json;

use super::connections::{find, may_see};
use super::consumers;
use crate::http::call::{Answer, Call};
use crate::http::error::ApiError;
use crate::http::list::Held;
use crate::http::rows::{ChannelRow, ConnectionIndex, channel_name};

pub(crate) async fn list(call: &Call<'_>) -> Answer {
    let mut rows = all(call)?;
    if let Some(vhost) = call.vhost_name() {
        rows.retain(|row| &*row.connection.virtual_host == vhost);
    }
    let identity = call.identity()?;
    if !identity.tags().may_monitor() {
        rows.retain(|row| *row.connection.client.user == **identity.user());
    }
    answer(call, rows).await
}

/// The channels of the virtual host in the path.
pub(crate) async fn list_of_host(call: &Call<'_>) -> Answer {
    call.vhost()?;
    list(call).await
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

pub(crate) fn show(call: &Call<'_>) -> Answer {
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
