//! `ConnectionRow`: an AMQP connection.
//!
//! - `ConnectionIndex`: from the numbers that virtual hosts give connections to the connections.
//! - `Owner`: a connection as other objects name it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use foldhash::HashMap;
use hairstreak_broker::vhost::ConnectionId;
use hairstreak_node::definitions::to_json;
use hairstreak_node::node::{ConnectionEntry, Node};
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

use super::counted::Counted;
use crate::http::list::Named;
use crate::http::rates::{Range, Row};

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
        let mut bytes = Counted::default();
        let received = ("recv_oct", "recv_oct_details");
        bytes.add(received, figures.read_bytes.load(Relaxed), self.rates.detail(0, self.range));
        let sent = ("send_oct", "send_oct_details");
        bytes.add(sent, figures.written_bytes.load(Relaxed), self.rates.detail(1, self.range));
        bytes.put(map)
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
