//! AMQP connections: lists, single ones, and closing them.
//!
//! - `ConnectionIndex`: from the numbers that virtual hosts give connections to the connections
//! - `Owner`: a connection as other objects name it

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use foldhash::HashMap;
use hairstreak_broker::vhost::ConnectionId;
use hairstreak_node::access::Identity;
use hairstreak_node::definitions::to_json;
use hairstreak_node::node::{ConnectionEntry, Node};
use hairstreak_node::operator::connections;
use hyper::header::HeaderName;
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};
use serde_json::{Value, json};

use crate::http::call::{Answer, Call, nothing};
use crate::http::error::ApiError;
use crate::http::list::{Held, Named, Range};
use crate::http::rates::{Counted, Row};

/// The header with the reason for which a connection is closed.
const REASON_HEADER: HeaderName = HeaderName::from_static("x-reason");
/// RabbitMQ's reason.
const REASON: &str = "Closed via management plugin";

pub(crate) async fn list(call: &Call<'_>) -> Answer {
    check_vhost(call)?;
    let identity = call.identity()?;
    let mut entries = connections::all(call.node());
    entries.retain(|connection| sees(identity, connection));
    if let Some(vhost) = call.vhost_name() {
        entries.retain(|connection| &*connection.virtual_host == vhost);
    }
    answer(call, entries).await
}

/// Fails if the path names a virtual host that does not exist.
pub(super) fn check_vhost(call: &Call<'_>) -> Result<(), ApiError> {
    call.name("vhost").map_or(Ok(()), |_| call.vhost().map(drop))
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

pub(crate) async fn show(call: &Call<'_>) -> Answer {
    let connection = find(call)?;
    may_see(call, &connection)?;
    call.object(&row(call, connection)?)
}

pub(crate) async fn close(call: &Call<'_>) -> Answer {
    let connection = find(call)?;
    let identity = call.identity()?;
    if !identity.tags().may_administer() && **identity.user() != *connection.client.user {
        return Err(not_theirs());
    }
    connections::close(call.node(), &connection.name, reason(call))?;
    nothing()
}

/// Closes all connections of the user in the path. Administrators may close the connections of other users.
pub(crate) async fn close_of_user(call: &Call<'_>) -> Answer {
    let identity = call.identity()?;
    if !identity.tags().may_administer() && **identity.user() != *call.text("user")? {
        return Err(not_theirs());
    }
    for connection in of_user(call)? {
        // One that has ended meanwhile is closed.
        let _ = connections::close(call.node(), &connection.name, reason(call));
    }
    nothing()
}

fn reason<'a>(call: &'a Call<'_>) -> &'a str {
    call.request.header(REASON_HEADER).unwrap_or(REASON)
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

/// Returns `true` if the user sees the connection: administrators and monitors see all connections, others their own.
pub(super) fn sees(identity: &Identity, connection: &ConnectionEntry) -> bool {
    identity.tags().may_monitor() || **identity.user() == *connection.client.user
}

/// Fails unless the user sees the connection.
pub(super) fn may_see(call: &Call<'_>, connection: &ConnectionEntry) -> Result<(), ApiError> {
    if sees(call.identity()?, connection) { Ok(()) } else { Err(not_theirs()) }
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

/// A connection of a list.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionRow {
    pub(crate) connection: Arc<ConnectionEntry>,
    pub(crate) node_name: Arc<str>,
    /// The rates of received and sent bytes.
    pub(crate) rates: Row<2>,
    pub(crate) range: Option<Range>,
}

impl Named for ConnectionRow {
    fn name(&self) -> &[u8] {
        self.connection.name.as_bytes()
    }
}

impl ConnectionRow {
    fn put_ends<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let ConnectionEntry { name, peer, virtual_host, .. } = &*self.connection;
        map.serialize_entry("name", name)?;
        map.serialize_entry("node", &*self.node_name)?;
        map.serialize_entry("vhost", virtual_host)?;
        map.serialize_entry("type", "network")?;
        map.serialize_entry("protocol", "AMQP 0-9-1")?;
        let host = peer.local.map_or_else(|| "undefined".into(), |address| address.ip().to_string());
        map.serialize_entry("host", &host)?;
        map.serialize_entry("port", &peer.local.map_or(0, |address| address.port()))?;
        map.serialize_entry("peer_host", &peer_host(&self.connection))?;
        map.serialize_entry("peer_port", &peer_port(&self.connection))?;
        map.serialize_entry("ssl", &peer.tls.is_some())?;
        let tls = peer.tls.as_ref();
        map.serialize_entry("ssl_protocol", &tls.map(|tls| tls.protocol))?;
        map.serialize_entry("ssl_cipher", &tls.map(|tls| tls.cipher))?;
        map.serialize_entry("ssl_hash", &tls.map(|tls| tls.hash))?;
        map.serialize_entry("ssl_key_exchange", &tls.map(|tls| tls.key_exchange))?;
        let certificate = tls.and_then(|tls| tls.certificate.as_ref()).and_then(|shown| shown.as_ref().ok());
        map.serialize_entry("peer_cert_subject", &certificate.map(|certificate| &certificate.subject))?;
        map.serialize_entry("peer_cert_issuer", &certificate.map(|certificate| &certificate.issuer))?;
        map.serialize_entry("peer_cert_validity", &certificate.map(|certificate| &certificate.validity))
    }

    fn put_client<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let client = &self.connection.client;
        map.serialize_entry("user", &client.user)?;
        map.serialize_entry("user_who_performed_action", &client.user)?;
        map.serialize_entry("auth_mechanism", client.mechanism)?;
        map.serialize_entry("timeout", &client.heartbeat)?;
        map.serialize_entry("frame_max", &client.frame_max)?;
        map.serialize_entry("channel_max", &client.channel_max)?;
        let properties = to_json(&client.properties.decode());
        if let Some(name) = properties.get("connection_name") {
            map.serialize_entry("user_provided_name", name)?;
        }
        map.serialize_entry("client_properties", &properties)?;
        map.serialize_entry("connected_at", &self.connection.connected_at)
    }

    fn put_figures<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let figures = &self.connection.figures;
        let state = if figures.is_blocked.load(Relaxed) { "blocked" } else { "running" };
        map.serialize_entry("state", state)?;
        map.serialize_entry("channels", &figures.channel_count.load(Relaxed))?;
        map.serialize_entry("send_pend", &figures.unwritten_bytes.load(Relaxed))?;
        // Frames are not counted.
        map.serialize_entry("recv_cnt", &0)?;
        map.serialize_entry("send_cnt", &0)?;
        let bytes = [figures.read_bytes.load(Relaxed), figures.written_bytes.load(Relaxed)];
        Counted::octets(bytes, |index| self.rates.detail(index, self.range)).put(map)
    }
}

impl Serialize for ConnectionRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.put_ends(&mut map)?;
        self.put_client(&mut map)?;
        self.put_figures(&mut map)?;
        map.end()
    }
}

/// All connections as they were when the index was made, by virtual host and number.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionIndex {
    hosts: HashMap<Box<str>, HashMap<ConnectionId, Arc<ConnectionEntry>>>,
}

impl ConnectionIndex {
    pub(crate) fn new(node: &Node) -> ConnectionIndex {
        let mut index = ConnectionIndex::default();
        for connection in node.connections.all() {
            let host = index.hosts.entry(connection.virtual_host.clone()).or_default();
            host.insert(connection.id, connection);
        }
        index
    }

    pub(crate) fn find(&self, virtual_host: &str, id: ConnectionId) -> Option<&Arc<ConnectionEntry>> {
        self.hosts.get(virtual_host)?.get(&id)
    }
}

/// The object `connection_details` of a channel, and `owner_pid_details` of an exclusive queue.
#[derive(Clone, Debug)]
pub(crate) struct Owner(pub(crate) Arc<ConnectionEntry>);

impl Serialize for Owner {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Owner", 3)?;
        fields.serialize_field("name", &self.0.name)?;
        fields.serialize_field("peer_host", &peer_host(&self.0))?;
        fields.serialize_field("peer_port", &peer_port(&self.0))?;
        fields.end()
    }
}

/// The address of the client; `undefined`, as in RabbitMQ, where there is none.
pub(super) fn peer_host(connection: &ConnectionEntry) -> String {
    connection.peer.remote.map_or_else(|| "undefined".into(), |address| address.ip().to_string())
}

/// The port of the client; 0 where there is none.
pub(super) fn peer_port(connection: &ConnectionEntry) -> u16 {
    connection.peer.remote.map_or(0, |address| address.port())
}

/// The name of a channel: that of the connection, and the number.
pub(crate) fn channel_name(connection: &ConnectionEntry, number: u16) -> String {
    format!("{} ({number})", connection.name)
}
