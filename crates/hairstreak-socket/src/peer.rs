//! `PeerInfo`: what a socket knows of one ready peer.

use std::net::SocketAddr;

use crate::stats::Drops;

/// A ready peer, as of the moment it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerInfo {
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
    /// What this side's authenticator called it.
    pub user_id: Option<String>,
    /// Messages accepted for it since it is there.
    pub sent: u64,
    /// Messages of it handed to the application.
    pub received: u64,
    /// Messages for it, or of it, that were dropped. Those that were no peer's in particular are in the
    /// socket's statistics only.
    pub drops: Drops,
    /// PUB, XPUB: how many prefixes it has subscribed to.
    pub subscription_count: usize,
    /// The metadata of its handshake.
    pub properties: Vec<(String, Vec<u8>)>,
}
