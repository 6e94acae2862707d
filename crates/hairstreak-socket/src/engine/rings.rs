//! Looking at rings: they have no event, so whoever is about to sleep looks, and is woken by the doorbell from
//! then on.

use super::link::{Link, LinkKind, Origin};
use super::state::State;
use super::wait::Engine;
use crate::pattern::Incoming;
use crate::session::SessionError;

impl State {
    /// Rings have no event: says that this engine sleeps, then looks at them once more. Returns whether
    /// the leader has news after all.
    pub fn expect_rings(&mut self, engine: &Engine) -> bool {
        if self.ring_count > 0 {
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
        for index in 0..self.links.capacity() {
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
