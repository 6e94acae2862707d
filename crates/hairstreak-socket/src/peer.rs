//! `PeerInfo`: what a socket knows of one ready peer.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::engine::{LinkKind, State};
use crate::monitor::ConnectionId;
use crate::stats::Drops;

/// A ready peer, as of the moment it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerInfo {
    /// Its number among the socket's connections; the same as in a monitor's events.
    pub connection: ConnectionId,
    /// The endpoint bound or connected that this peer came by.
    pub endpoint: String,
    /// This end's address (tcp).
    pub local: Option<SocketAddr>,
    /// The peer's address (tcp).
    pub remote: Option<SocketAddr>,
    /// Whether messages cross in shared memory (ipc, shm).
    pub shared_memory: bool,
    /// What a ROUTER calls the peer; else what the peer announced, possibly nothing.
    pub routing_id: Vec<u8>,
    /// Messages accepted for it and not yet written.
    pub queued_count: usize,
    /// Bytes accepted for it and not yet written.
    pub queued_bytes: usize,
    /// How long the oldest of them has waited at least; as exact as [`Stats::queued_age`](crate::Stats::queued_age).
    pub queued_age: Duration,
    /// How long the oldest message of it that was not received yet has waited at least; as exact as
    /// [`Stats::waiting_age`](crate::Stats::waiting_age).
    pub waiting_age: Duration,
    /// What this side's authenticator called it.
    pub user_id: Option<String>,
    /// Since its handshake.
    pub uptime: Duration,
    /// Messages accepted for it since it is there.
    pub sent: u64,
    /// Messages of it handed to the application.
    pub received: u64,
    /// Bytes sent to it, counted as [`Stats::sent_bytes`](crate::Stats::sent_bytes); its handshake is among them.
    pub sent_bytes: u64,
    /// Bytes received from it, likewise.
    pub received_bytes: u64,
    /// Messages for it, or of it, that were dropped. Those that were no peer's in particular are in the
    /// socket's statistics only.
    pub drops: Drops,
    /// PUB, XPUB: how many prefixes it has subscribed to.
    pub subscription_count: usize,
    /// The metadata of its handshake; over inproc, where there is none, what [`Options::properties`](crate::Options) it has.
    pub properties: Vec<(String, Vec<u8>)>,
}

impl State {
    /// Of one of a socket's links.
    pub(crate) fn peer_info(&mut self, index: usize) -> Option<PeerInfo> {
        let link = self.links.get_mut(index)?;
        let now = Instant::now();
        // What nobody has noted so far is noted now.
        link.note_ages(now);
        let (queued_count, queued_bytes) = link.queued();
        let (sent_bytes, received_bytes) = link.kind.byte_counts();
        let stream = match &link.kind {
            LinkKind::Stream(session) => Some(session.connection.stream()),
            LinkKind::Ring(_) => None,
        };
        Some(PeerInfo {
            connection: link.id,
            endpoint: link.endpoint.to_string(),
            local: stream.and_then(|stream| stream.local_address()),
            remote: stream.and_then(|stream| stream.remote_address()),
            shared_memory: stream.is_some_and(|stream| stream.is_shared()),
            routing_id: link.routing_id.as_bytes().to_vec(),
            queued_count,
            queued_bytes,
            queued_age: link.queued_age(now),
            waiting_age: link.waiting_age(now),
            user_id: link.peer.as_ref().and_then(|peer| peer.user_id.clone()),
            uptime: now.saturating_duration_since(link.since),
            sent_bytes,
            received_bytes,
            sent: link.kind.accepted_count() as u64,
            received: link.received,
            drops: link.drops,
            subscription_count: self
                .sockets
                .get(link.socket)
                .map_or(0, |socket| socket.publisher.index.prefix_count(index)),
            properties: link.peer.as_ref().map(|peer| peer.properties.clone()).unwrap_or_default(),
        })
    }
}
