//! `SocketOutbox`: a ROUTER as the state machines see it.

use std::time::Duration;

use hairstreak_base::Bytes;
use hairstreak_services::{Outbox, Sent};
use hairstreak_socket::{Outgoing, PeerHeartbeats, Router, SendError};

/// A peer that no machine depends on is asked for a sign of life when it has been silent for so long.
pub(crate) const IDLE_HEARTBEAT: Duration = Duration::from_secs(15);
/// Frames before a body, the routing id among them.
const HEAD_COUNT_MAX: usize = 8;
/// Bytes that wait for one peer in the socket while there are many for all.
const SEND_BYTES_TIGHT: usize = 256 << 10;
/// Interval at which the bytes of all peers are counted.
const WEIGH_INTERVAL: Duration = Duration::from_millis(100);

/// A ROUTER that refuses messages without room (`router_mandatory`).
pub(crate) struct SocketOutbox {
    router: Router,
    /// With more bytes for all peers in the socket, each has [`SEND_BYTES_TIGHT`] there.
    queued_bytes_tight: Option<usize>,
    is_tight: bool,
    next_weighing: Duration,
    heartbeats: PeerHeartbeats,
    /// The heartbeat of peers that the machine does not depend on, if it is not that of all.
    idle_heartbeat: Option<Duration>,
}

impl SocketOutbox {
    pub(crate) fn new(router: Router) -> SocketOutbox {
        SocketOutbox {
            heartbeats: PeerHeartbeats::of(&router),
            router,
            queued_bytes_tight: None,
            is_tight: false,
            next_weighing: Duration::ZERO,
            idle_heartbeat: None,
        }
    }

    /// Sets a bound for the bytes that wait in the socket for all peers.
    pub(crate) fn with_bound(self, queued_bytes_tight: usize) -> SocketOutbox {
        SocketOutbox { queued_bytes_tight: Some(queued_bytes_tight), ..self }
    }

    /// Peers that the machine does not depend on are asked for a sign of life only when they have been silent for so long.
    pub(crate) fn with_idle_heartbeat(self, interval: Duration) -> SocketOutbox {
        SocketOutbox { idle_heartbeat: Some(interval), ..self }
    }

    pub(super) fn router(&self) -> &Router {
        &self.router
    }

    /// Checks the bytes that wait in the socket. A peer that does not read holds some of them, and many such peers may hold as
    /// much as there is for all.
    pub(super) fn weigh(&mut self, now: Duration) {
        let Some(bound) = self.queued_bytes_tight else { return };
        if now >= self.next_weighing {
            self.next_weighing = now + WEIGH_INTERVAL;
            self.is_tight = self.router.stats().queued_bytes > bound;
        }
    }
}

impl Outbox for SocketOutbox {
    fn send(&mut self, peer: &[u8], head: &[&[u8]], body: &[Bytes]) -> Sent {
        if self.is_tight && self.router.peer(peer).is_some_and(|peer| peer.queued_bytes > SEND_BYTES_TIGHT) {
            return Sent::Full;
        }
        let mut frames = [peer; HEAD_COUNT_MAX];
        frames[1..=head.len()].copy_from_slice(head);
        let head = &frames[..=head.len()];
        let outgoing = if body.is_empty() { Outgoing::Frames(head) } else { Outgoing::Headed { head, body } };
        match self.router.try_send(outgoing) {
            Ok(()) => Sent::Done,
            Err(SendError::WouldBlock) => Sent::Full,
            // It had room as it came, with another head.
            Err(SendError::TooLarge { .. } | SendError::TooManyFrames { .. }) => Sent::Never,
            Err(_) => Sent::Gone,
        }
    }
    fn attend(&mut self, peer: &[u8], is_attended: bool) {
        if let Some(idle) = self.idle_heartbeat {
            // A peer that has left needs no heartbeat.
            self.heartbeats.set(peer, Some(idle).filter(|_| !is_attended));
        }
    }
}
