//! `Connections`: the AMQP connections of the node, as operators see them.
//!
//! A connection is listed from connection.open to its end. Its loop keeps the figures here up to date once in each turn.
//!
//! - `Post`: the way from the node to its connections of all protocols.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use hairstreak_broker::vhost::ConnectionId;
use hairstreak_transport::event_loop::Address;
use hairstreak_wire::amqp::EncodedTable;
use parking_lot::Mutex;
use slab::Slab;

use super::journal::JournalError;
use crate::access::{LoginResult, Peer as LoginPeer};
use crate::tls::PeerTls;

/// A connection and its traffic.
#[derive(Debug)]
pub struct ConnectionEntry {
    /// `127.0.0.1:50000 -> 127.0.0.1:5672`, as RabbitMQ names connections.
    pub name: String,
    /// The other end of the connection.
    pub peer: Peer,
    /// The client in its own words.
    pub client: ClientInfo,
    /// The virtual host.
    pub virtual_host: Box<str>,
    /// The connection's number in its virtual host.
    pub id: ConnectionId,
    /// Milliseconds since 1970.
    pub connected_at: u64,
    /// The counters.
    pub figures: Figures,
    address: Address,
}

/// Both ends of a connection.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    /// `None`: a unix socket, or a fabric.
    pub local: Option<SocketAddr>,
    /// The address of the client; `None` over a unix socket.
    pub remote: Option<SocketAddr>,
    /// The TLS session.
    pub tls: Option<PeerTls>,
}

impl Peer {
    /// Returns the address of the client for a login. A tcp connection that was reset before the node read it has lost the
    /// address of its peer. That peer may be anywhere.
    pub fn for_login(&self) -> LoginPeer {
        match (self.remote, self.local) {
            (Some(remote), _) => LoginPeer::at(remote.ip()),
            (None, Some(_)) => LoginPeer::at(Ipv4Addr::UNSPECIFIED.into()),
            (None, None) => LoginPeer::local(),
        }
    }
}

/// The words and limits of a client.
#[derive(Clone, Debug, Default)]
pub struct ClientInfo {
    /// The user.
    pub user: Box<str>,
    /// The mechanism of the login.
    pub mechanism: &'static str,
    /// The properties of the client.
    pub properties: EncodedTable,
    /// The agreed number of channels.
    pub channel_max: u16,
    /// The agreed size of frames, in bytes.
    pub frame_max: u32,
    /// Seconds; 0: none.
    pub heartbeat: u16,
}

/// Figures that change while a connection lives.
#[derive(Debug, Default)]
pub struct Figures {
    /// Bytes received.
    pub read_bytes: AtomicU64,
    /// Bytes sent.
    pub written_bytes: AtomicU64,
    /// Bytes that wait to be sent.
    pub unwritten_bytes: AtomicU64,
    /// Open channels.
    pub channel_count: AtomicU32,
    /// The connection has published while the alarm was raised, and waits.
    pub is_blocked: AtomicBool,
}

/// The connections of the node.
#[derive(Default)]
pub struct Connections {
    entries: Mutex<Slab<Arc<ConnectionEntry>>>,
    opened: AtomicU64,
    closed: AtomicU64,
    /// The bytes of connections that are closed, read and written.
    past_bytes: [AtomicU64; 2],
}

/// The place of a connection in the list, until it is dropped.
pub struct Listed {
    connections: Arc<Connections>,
    key: usize,
    /// The entry.
    pub entry: Arc<ConnectionEntry>,
}

impl Connections {
    /// Lists a connection.
    pub fn add(
        self: &Arc<Connections>,
        address: Address,
        peer: Peer,
        client: ClientInfo,
        (virtual_host, id): (&str, ConnectionId),
        connected_at: u64,
    ) -> Listed {
        let serial = self.opened.fetch_add(1, Relaxed);
        let name = match (peer.remote, peer.local) {
            (Some(remote), Some(local)) => format!("{remote} -> {local}"),
            _ => format!("local {serial}"),
        };
        let entry = Arc::new(ConnectionEntry {
            name,
            peer,
            client,
            virtual_host: virtual_host.into(),
            id,
            connected_at,
            figures: Figures::default(),
            address,
        });
        let key = self.entries.lock().insert(Arc::clone(&entry));
        Listed { connections: Arc::clone(self), key, entry }
    }

    /// All connections, by name.
    pub fn all(&self) -> Vec<Arc<ConnectionEntry>> {
        let mut all: Vec<_> = self.entries.lock().iter().map(|(_, entry)| Arc::clone(entry)).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    pub fn find(&self, name: &str) -> Option<Arc<ConnectionEntry>> {
        self.entries.lock().iter().map(|(_, entry)| entry).find(|entry| entry.name == name).cloned()
    }

    /// The addresses of the connections that `is_meant` picks.
    pub fn addresses(&self, is_meant: impl Fn(&ConnectionEntry) -> bool) -> Vec<Address> {
        let entries = self.entries.lock();
        let meant = entries.iter().map(|(_, entry)| entry).filter(|entry| is_meant(entry));
        meant.map(|entry| entry.address).collect()
    }

    /// Returns the numbers of connections opened and closed since the start.
    pub fn churn(&self) -> (u64, u64) {
        (self.opened.load(Relaxed), self.closed.load(Relaxed))
    }

    /// Returns the bytes read from all connections and written to them. Closed connections are included.
    pub fn bytes(&self) -> [u64; 2] {
        let entries = self.entries.lock();
        let past = self.past_bytes.each_ref().map(|bytes| bytes.load(Relaxed));
        let figures = entries.iter().map(|(_, entry)| &entry.figures);
        figures.fold(past, |[read, written], figures| {
            [read + figures.read_bytes.load(Relaxed), written + figures.written_bytes.load(Relaxed)]
        })
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let Figures { read_bytes, written_bytes, .. } = &self.entry.figures;
        let bytes = [read_bytes, written_bytes].map(|bytes| bytes.load(Relaxed));
        let mut entries = self.connections.entries.lock();
        entries.try_remove(self.key);
        // The lock is held, so that a concurrent sum counts these bytes exactly once.
        for (sum, bytes) in self.connections.past_bytes.iter().zip(bytes) {
            sum.fetch_add(bytes, Relaxed);
        }
        drop(entries);
        self.connections.closed.fetch_add(1, Relaxed);
    }
}

/// Takes word to connections. None of the calls blocks.
pub trait Post: Send + Sync {
    /// Something waits in the connection's outlet, or the alarm has changed.
    fn wake(&self, to: Address);

    /// The node ends the connection, for this reason.
    fn close(&self, to: Address, reason: &str);

    /// The answer to a login that the connection has asked for.
    fn logged_in(&self, to: Address, result: LoginResult);

    /// Reports that the connection's changes of the turn with this number are on disk, or cannot be written. Its answers are held
    /// until then.
    fn committed(&self, to: Address, ticket: u64, result: Result<(), JournalError>);
}

/// A node without connections.
pub struct NoPost;

impl Post for NoPost {
    fn wake(&self, _to: Address) {}
    fn close(&self, _to: Address, _reason: &str) {}
    fn logged_in(&self, _to: Address, _result: LoginResult) {}
    fn committed(&self, _to: Address, _ticket: u64, _result: Result<(), JournalError>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_on_this_host_only_if_it_is_known_to_be() {
        let at = |text: &str| Some(text.parse().unwrap());
        for (local, remote, is_loopback) in [
            (None, None, true),
            (at("127.0.0.1:5672"), at("127.0.0.1:40000"), true),
            (at("10.0.0.1:5672"), at("10.0.0.2:40000"), false),
            (at("10.0.0.1:5672"), None, false),
            (at("127.0.0.1:5672"), None, false),
        ] {
            let peer = Peer { local, remote, tls: None };
            assert_eq!(peer.for_login().is_loopback(), is_loopback, "{local:?} {remote:?}");
        }
    }
}
