//! `Stats`: a socket's counters, `Rates`: what became of them between two looks, and `Drops`: every reason for which a
//! message is dropped.

use std::time::Duration;

use crate::peer::PeerInfo;

/// A socket's counters since it was opened, and its depth now.
///
/// For a socket that sends each message to one peer:
/// sent = written to peers + queued + dropped for any of the outgoing reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Since the socket was opened.
    pub uptime: Duration,
    /// Messages accepted by a send, each counted once however many peers get it.
    pub sent: u64,
    /// Messages handed to the application.
    pub received: u64,
    /// Messages dropped, those of past peers included. A message for several peers counts for each.
    pub drops: Drops,
    /// Bytes written to peers, past ones included: as they go over the wire; over inproc of bodies, counted when
    /// they are accepted.
    pub sent_bytes: u64,
    /// Bytes read from peers, likewise; over inproc counted when they are handed to the application.
    pub received_bytes: u64,
    /// Ready peers. One that is gone is none, though messages of it may be left to be received.
    pub peer_count: usize,
    /// Messages accepted and not yet written, all peers. Over inproc: not yet taken, of which a peer tells when it
    /// finds no further one or has taken a quarter of the mark.
    pub queued_count: usize,
    /// Bytes accepted and not yet written, all peers.
    pub queued_bytes: usize,
    /// How long the oldest of them has waited at least, all peers. No clock is read for each message: it is too low
    /// by 10 ms, or an eighth of the longest wait lately if that is more, and zero for what came in since the last
    /// look. Where the oldest may be dropped (`Overflow::DropOldest`) it counts from when they cannot be any more.
    pub queued_age: Duration,
    /// How long the oldest message that has come whole and was not received yet has waited at least, all peers: read
    /// ahead, or by the last receive. As exact as `queued_age`, while somebody looks after the engine. Over inproc it
    /// counts from the first look, with CURVE from when it was opened; what a peer has not been able to send counts in
    /// its own `queued_age`.
    pub waiting_age: Duration,
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
    /// Going out: accepted and not completely written (over inproc: not come) when the peer was lost, or a reply to such
    /// a peer.
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
    /// Coming in: had come, and was not received when this side disconnected from the peer or closed the socket. A
    /// message has come when it was read whole, or over inproc when its sender had let it go; the sender does not count
    /// it as lost then. Where messages are settled it sends them to another receiver, and none is counted. However else
    /// a connection ends, what has come is still received.
    pub unreceived: u64,
}

/// What happened in a second, on average between two looks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Messages accepted by a send; for a peer, accepted for it.
    pub sent_per_s: f64,
    /// Messages handed to the application.
    pub received_per_s: f64,
    /// Bytes sent, counted as [`Stats::sent_bytes`].
    pub sent_bytes_per_s: f64,
    /// Bytes received, counted as [`Stats::received_bytes`].
    pub received_bytes_per_s: f64,
    /// Messages dropped, for whatever reason.
    pub dropped_per_s: f64,
}

/// The counters that become rates.
struct Counts {
    uptime: Duration,
    sent: u64,
    received: u64,
    sent_bytes: u64,
    received_bytes: u64,
    dropped: u64,
}

impl Rates {
    /// All zero when no time has passed, or `earlier` is later.
    fn between(earlier: &Counts, later: &Counts) -> Rates {
        let seconds = later.uptime.saturating_sub(earlier.uptime).as_secs_f64();
        if seconds == 0.0 {
            return Rates::default();
        }
        let rate = |earlier: u64, later: u64| later.saturating_sub(earlier) as f64 / seconds;
        Rates {
            sent_per_s: rate(earlier.sent, later.sent),
            received_per_s: rate(earlier.received, later.received),
            sent_bytes_per_s: rate(earlier.sent_bytes, later.sent_bytes),
            received_bytes_per_s: rate(earlier.received_bytes, later.received_bytes),
            dropped_per_s: rate(earlier.dropped, later.dropped),
        }
    }
}

impl Stats {
    /// The rates since an earlier look at the same socket; since it was opened, for `Stats::default()`. Several
    /// observers may look, each at its own pace.
    pub fn rates_since(&self, earlier: &Stats) -> Rates {
        Rates::between(&earlier.counts(), &self.counts())
    }

    fn counts(&self) -> Counts {
        let Stats { uptime, sent, received, sent_bytes, received_bytes, drops, .. } = *self;
        Counts { uptime, sent, received, sent_bytes, received_bytes, dropped: drops.total() }
    }
}

impl PeerInfo {
    /// The rates since an earlier look at the same peer; `None` if that was another connection. Since its handshake,
    /// for `None`.
    pub fn rates_since(&self, earlier: Option<&PeerInfo>) -> Option<Rates> {
        match earlier {
            None => {
                let nothing = Stats::default().counts();
                Some(Rates::between(&nothing, &self.counts()))
            }
            Some(earlier) if earlier.connection == self.connection => {
                Some(Rates::between(&earlier.counts(), &self.counts()))
            }
            Some(_) => None,
        }
    }

    fn counts(&self) -> Counts {
        let PeerInfo { uptime, sent, received, sent_bytes, received_bytes, drops, .. } = *self;
        Counts { uptime, sent, received, sent_bytes, received_bytes, dropped: drops.total() }
    }
}

impl Drops {
    /// Of all reasons together.
    pub fn total(&self) -> u64 {
        let Drops { no_peer, peer_lost, newest, oldest, unroutable, unexpected, unreceived } = *self;
        no_peer + peer_lost + newest + oldest + unroutable + unexpected + unreceived
    }
}
