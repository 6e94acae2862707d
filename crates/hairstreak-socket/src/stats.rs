//! `Stats`: a socket's counters. sent = written to peers + queued + dropped when a peer was lost.

/// A socket's counters since it was opened, and its depth now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Messages accepted by a send, each counted once however many peers get it.
    pub sent: u64,
    /// Messages handed to the application.
    pub received: u64,
    /// Messages dropped because there was no peer (`Distribution::All`).
    pub dropped_no_peer: u64,
    /// Messages accepted and not completely written when their peer was lost.
    pub dropped_peer_lost: u64,
    /// Ready peers.
    pub peer_count: usize,
    /// Messages accepted and not yet written, all peers.
    pub queued_count: usize,
    /// Bytes accepted and not yet written, all peers.
    pub queued_bytes: usize,
    /// Connections that ended in an error, handshakes included.
    pub failed_connections: u64,
    /// Connections refused because `connections_max` was reached.
    pub refused_connections: u64,
    /// Connections closed as they came because the address rules do not permit their address.
    pub denied_connections: u64,
}
