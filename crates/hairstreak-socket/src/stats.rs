//! `Stats`: a socket's counters, and `Drops`: every reason for which a message is dropped.

/// A socket's counters since it was opened, and its depth now.
///
/// For a socket that sends each message to one peer:
/// sent = written to peers + queued + dropped for any of the outgoing reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Messages accepted by a send, each counted once however many peers get it.
    pub sent: u64,
    /// Messages handed to the application.
    pub received: u64,
    /// Messages dropped, those of past peers included. A message for several peers counts for each.
    pub drops: Drops,
    /// Ready peers.
    pub peer_count: usize,
    /// Messages accepted and not yet written, all peers.
    pub queued_count: usize,
    /// Bytes accepted and not yet written, all peers.
    pub queued_bytes: usize,
    /// Connections that ended in an error, handshakes included.
    pub failed_connections: u64,
    /// Connections refused: `connections_max` was reached, a PAIR has its peer, or a ROUTER has one of
    /// that name.
    pub refused_connections: u64,
    /// Connections closed as they came because the address rules do not permit their address.
    pub denied_connections: u64,
}

/// Messages dropped, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// Going out: there was no peer for it. PUB: nobody had subscribed to it.
    pub no_peer: u64,
    /// Going out: accepted and not completely written when the peer was lost, or a reply to such a peer.
    pub peer_lost: u64,
    /// Going out: no room (`Overflow::DropNewest`).
    pub newest: u64,
    /// Going out: made room for a newer one (`Overflow::DropOldest`).
    pub oldest: u64,
    /// Going out: a ROUTER that is not mandatory has no peer of that name.
    pub unroutable: u64,
    /// Coming in: no reply to the request (REQ), no request (REP), not subscribed to (SUB), no
    /// subscription (PUB).
    pub unexpected: u64,
}
