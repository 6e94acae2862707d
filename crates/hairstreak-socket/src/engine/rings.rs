//! Looking at rings: they have no event, so whoever is about to sleep looks, and is woken by the doorbell from
//! then on.

use std::sync::Arc;

use super::link::{Link, LinkKind, Origin};
use super::state::State;
use super::wait::{Engine, Guard};
use crate::pattern::Incoming;
use crate::session::SessionError;

/// How often a caller looks again, before it sleeps, at rings that are busy or have just been sent to: the peer is likely
/// to be in the middle of its next batch, or of the answer, and what a sleep and a wake-up cost is worth 30 us of looking.
/// Doubled when it was worth it, halved when not: a peer that waits for this very processor brings nothing.
const RING_SPIN_COUNT_MIN: u32 = 1;
const RING_SPIN_COUNT_MAX: u32 = 64;
/// Pauses between two looks: each look takes the line that tells of messages away from its writer.
const RING_SPIN_PAUSES: u32 = 16;
/// After so many failures in a row the longest look is tried once: a short one cannot tell whether a
/// longer one would do.
const RING_SPIN_PROBE: u32 = 16;

/// How long callers look at busy rings, learnt from how it went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingSpin {
    count: u32,
    /// In a row.
    failures: u32,
}

impl RingSpin {
    fn count(self) -> u32 {
        if self.failures + 1 == RING_SPIN_PROBE { RING_SPIN_COUNT_MAX } else { self.count }
    }
}

impl Default for RingSpin {
    fn default() -> RingSpin {
        RingSpin { count: RING_SPIN_COUNT_MAX / 8, failures: 0 }
    }
}

impl Engine {
    /// Looks at the rings for a while before sleeping.
    pub(super) fn spin_on_rings<'a, R>(
        self: &'a Arc<Self>,
        mut state: Guard<'a>,
        attempt: &mut impl FnMut(&mut State) -> Option<R>,
    ) -> (Guard<'a>, Option<R>) {
        state.flush_dirty(self, false);
        let spin_count = state.ring_spin.count();
        for _ in 0..spin_count {
            drop(state);
            (0..RING_SPIN_PAUSES).for_each(|_| std::hint::spin_loop());
            state = self.lock();
            let result = attempt(&mut state);
            if result.is_some() {
                state.ring_spin = RingSpin { count: (spin_count * 2).min(RING_SPIN_COUNT_MAX), failures: 0 };
                return (state, result);
            }
        }
        let RingSpin { count, failures } = state.ring_spin;
        state.ring_spin = RingSpin {
            count: (count / 2).max(RING_SPIN_COUNT_MIN),
            failures: (failures + 1) % RING_SPIN_PROBE,
        };
        (state, None)
    }
}

impl State {
    /// Rings have no event: says that this engine sleeps, then looks at them once more. Returns whether
    /// the leader has news after all.
    pub fn expect_rings(&mut self, engine: &Engine) -> bool {
        if !self.rings.is_empty() {
            engine.doorbell.announce_sleep();
            self.look_at_rings(engine);
        }
        self.leader_has_news
    }

    /// Ends the link if it is a ring whose peer is gone. Returns whether there is no such link any more.
    pub fn end_if_over(&mut self, engine: &Engine, index: usize) -> bool {
        let Some(link) = self.links.get(index) else { return true };
        let LinkKind::Ring(ring) = &link.kind else { return false };
        // What a peer that is gone has sent is taken all the same; whoever takes it at once has to have all first.
        let takes_later = matches!(self.sockets[link.socket].rules.incoming, Incoming::Messages);
        let has_ended = matches!(link.origin, Origin::Ended);
        let is_over =
            (ring.is_over() && link.late.is_empty()) || (takes_later && !has_ended && ring.is_gone());
        if is_over {
            self.end_link(engine, index, &SessionError::Closed);
        }
        is_over
    }

    /// Ends rings whose peer is gone, and tells whoever waits for a socket of messages and room.
    pub fn look_at_rings(&mut self, engine: &Engine) {
        self.rings_awaited = false;
        // From the last to the first: a look may take rings out of the list.
        for slot in (0..self.rings.len()).rev() {
            let Some(&index) = self.rings.get(slot) else { continue };
            let Some(Link { kind: LinkKind::Ring(ring), socket, .. }) = self.links.get(index) else {
                continue;
            };
            let socket = *socket;
            if ring.has_messages() {
                self.tell_of_ring(engine, socket, index);
            }
            if !self.end_if_over(engine, index) {
                self.push_subscriptions(index);
                self.push_held(engine, index);
                self.list_room(index);
                let link = &self.links[index];
                let holds = link.held.as_ref().is_some_and(|held| held.count() > 0);
                self.rings_awaited |= holds || !link.subscriptions.is_empty();
            }
        }
    }

    /// A ring has messages: whoever waits to receive them is told. Who waits for room is not: it would look in
    /// vain again and again as long as they lie there.
    fn tell_of_ring(&mut self, engine: &Engine, socket: usize, index: usize) {
        match self.sockets[socket].rules.incoming {
            Incoming::Messages if self.sockets[socket].receivers > 0 || self.is_received_from(socket) => {
                self.notify_of_messages(socket);
            }
            Incoming::Messages => {}
            Incoming::AtOnce(_) | Incoming::Nothing => self.take_in(engine, index),
        }
    }
}
