//! `PeerHeartbeats`: how often a ROUTER asks each of its peers for a sign of life.
//!
//! `Options::heartbeat_ms` is for all peers alike. Some peers matter more: those that work, or wait for something. The owner
//! of the ROUTER, which knows them, sets a longer interval for the others, so that many idle peers cost little.
//!
//! ```text
//!   heard | ... silence for the interval ... | PING | ... heartbeat_timeout_ms ... | given up
//! ```

use std::fmt;
use std::time::{Duration, Instant};

use super::router::Router;
use crate::engine::Due;

/// The heartbeats of a ROUTER's peers; see the module's description.
pub struct PeerHeartbeats {
    router: Router,
}

impl PeerHeartbeats {
    /// Those of this ROUTER.
    pub fn of(router: &Router) -> PeerHeartbeats {
        PeerHeartbeats { router: router.clone() }
    }

    /// Has the peer asked for a sign of life when it has been silent for `interval`; `None`: for `Options::heartbeat_ms`, as a
    /// peer that has just connected. Zero: never. Holds as long as the connection. Returns whether there is such a peer.
    ///
    /// PINGs carry no time to live, so that a peer does not judge by them how long this side may be silent.
    pub fn set(&self, routing_id: &[u8], interval: Option<Duration>) -> bool {
        let handle = &self.router.handle;
        if handle.is_forked() {
            return false;
        }
        let mut guard = handle.engine.lock();
        let state = &mut *guard;
        let Some(socket) = state.sockets.get(handle.index) else { return false };
        let Some(index) = socket.names.link_of(routing_id) else { return false };
        let Some(link) = state.links.get_mut(index) else { return false };
        if std::mem::replace(&mut link.heartbeat, interval) != interval {
            let wait = interval.unwrap_or(Duration::from_millis(socket.options.heartbeat_ms));
            let at = Instant::now() + wait;
            state.timers.set_earlier(Due::Link(index), at);
            if state.timers.next() == Some(at) {
                state.due_soon(&handle.engine);
            }
        }
        true
    }
}

impl fmt::Debug for PeerHeartbeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PeerHeartbeats")
    }
}
