//! AMQP connections: lists, single ones, and closing them.

use std::sync::Arc;

use hairstreak_node::node::ConnectionEntry;
use hairstreak_node::operator::connections;
use hyper::StatusCode;
use serde_json::{Value, json};

use crate::http::call::{Answer, Call, nothing};
use crate::http::error::ApiError;
use crate::http::list::Held;
use crate::http::response::Response;
use crate::http::rows::ConnectionRow;

/// The header with the reason for which a connection is closed.
const REASON_HEADER: &str = "x-reason";
/// RabbitMQ's reason.
const REASON: &str = "Closed via management plugin";

pub(crate) async fn list(call: &Call<'_>) -> Answer {
    let mut entries = visible(call)?;
    if let Some(vhost) = call.vhost_name() {
        entries.retain(|connection| &*connection.virtual_host == vhost);
    }
    answer(call, entries).await
}

/// The connections of the virtual host in the path.
pub(crate) async fn list_of_host(call: &Call<'_>) -> Answer {
    call.vhost()?;
    list(call).await
}

/// The connections of the user in the path, with a few keys.
pub(crate) async fn list_of_user(call: &Call<'_>) -> Answer {
    let rows: Vec<Value> = of_user(call)?
        .iter()
        .map(|connection| {
            json!({"name": connection.name, "vhost": connection.virtual_host, "user": connection.client.user,
                "node": &*call.state.about.node_name})
        })
        .collect();
    call.list(Held::values(rows)).await
}

pub(crate) fn show(call: &Call<'_>) -> Answer {
    let connection = find(call)?;
    may_see(call, &connection)?;
    call.object(&row(call, connection)?)
}

pub(crate) fn close(call: &Call<'_>) -> Answer {
    let connection = find(call)?;
    let identity = call.identity()?;
    if !identity.tags().may_administer() && **identity.user() != *connection.client.user {
        return Err(not_theirs());
    }
    connections::close(call.node(), &connection.name, reason(call))?;
    nothing()
}

/// Closes all connections of the user in the path. Administrators close those of others.
pub(crate) fn close_of_user(call: &Call<'_>) -> Answer {
    let identity = call.identity()?;
    if !identity.tags().may_administer() && **identity.user() != *call.text("user")? {
        return Err(not_theirs());
    }
    for connection in of_user(call)? {
        // One that has ended meanwhile is closed.
        let _ = connections::close(call.node(), &connection.name, reason(call));
    }
    Ok(Response::empty(StatusCode::NO_CONTENT))
}

fn reason<'a>(call: &'a Call<'_>) -> &'a str {
    let header = call.request.headers.get(REASON_HEADER);
    header.and_then(|reason| reason.to_str().ok()).unwrap_or(REASON)
}

/// The connection of the path.
pub(super) fn find(call: &Call<'_>) -> Result<Arc<ConnectionEntry>, ApiError> {
    Ok(connections::find(call.node(), call.text("connection")?)?)
}

/// The connections of the user in the path, as far as the client may see them.
fn of_user(call: &Call<'_>) -> Result<Vec<Arc<ConnectionEntry>>, ApiError> {
    let (user, identity) = (call.text("user")?, call.identity()?);
    if !identity.tags().may_monitor() && **identity.user() != *user {
        return Err(not_theirs());
    }
    let mut entries = connections::all(call.node());
    entries.retain(|connection| *connection.client.user == *user);
    Ok(entries)
}

/// The connections that the user sees: all, or its own.
pub(super) fn visible(call: &Call<'_>) -> Result<Vec<Arc<ConnectionEntry>>, ApiError> {
    let identity = call.identity()?;
    let mut entries = connections::all(call.node());
    if !identity.tags().may_monitor() {
        entries.retain(|connection| *connection.client.user == **identity.user());
    }
    Ok(entries)
}

/// Fails unless the user sees the connection.
pub(super) fn may_see(call: &Call<'_>, connection: &ConnectionEntry) -> Result<(), ApiError> {
    let identity = call.identity()?;
    if identity.tags().may_monitor() || **identity.user() == *connection.client.user {
        return Ok(());
    }
    Err(not_theirs())
}

fn not_theirs() -> ApiError {
    ApiError::not_authorised("User not authorised to access object")
}

async fn answer(call: &Call<'_>, entries: Vec<Arc<ConnectionEntry>>) -> Answer {
    let rows = entries.into_iter().map(|connection| row(call, connection)).collect::<Result<_, _>>()?;
    let key = |row: &ConnectionRow| (row.connection.virtual_host.clone(), row.connection.name.clone());
    call.list(Held::sorted_by_key(rows, key)).await
}

fn row(call: &Call<'_>, connection: Arc<ConnectionEntry>) -> Result<ConnectionRow, ApiError> {
    Ok(ConnectionRow {
        rates: call.state.rates.lock().connection(&connection.name),
        range: call.ranges()?.data,
        node_name: Arc::clone(&call.state.about.node_name),
        connection,
    })
}
