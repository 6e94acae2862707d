//! Whether a socket could receive or send at once, for whoever waits for several.
//!
//! Readable means that a message is here, not merely bytes: it is taken as the pattern takes it and set aside
//! in its socket, where the next receive finds it. A socket sets aside one message at most.

use std::time::{Duration, Instant};

use hairstreak_base::Message;

use super::{Received, ShortIn};
use crate::engine::Engine;
use crate::engine::state::State;
use crate::options::{Distribution, Overflow};
use crate::settlement::DeliveryMark;

/// What the next receive returns: a message, or that a REQ's peer is lost.
#[derive(Debug)]
pub(crate) struct SetAside {
    received: Received,
    message: Message,
    since: Instant,
    /// By which it can be settled.
    mark: Option<DeliveryMark>,
}

impl SetAside {
    pub fn is_message(&self) -> bool {
        self.received == Received::Message
    }

    /// By which it can be settled, if it is a message.
    pub fn mark(&self) -> Option<DeliveryMark> {
        self.mark.filter(|_| self.is_message())
    }

    /// How long it has waited here.
    pub fn age(&self, now: Instant) -> Duration {
        if self.is_message() { now.saturating_duration_since(self.since) } else { Duration::ZERO }
    }
}

impl State {
    /// Whether the next receive returns at once, other than to say that it is time to send.
    pub fn is_readable(&mut self, engine: &Engine, socket: usize) -> bool {
        let Some(state) = self.sockets.get(socket) else { return false };
        if state.set_aside.is_some() {
            return true;
        }
        let mut message = Message::new();
        let received = self.receive(engine, socket, &mut message);
        if !matches!(received, Received::Message | Received::PeerLost) {
            return false;
        }
        let mark = self.delivery_mark(self.sockets[socket].last_link);
        let state = &mut self.sockets[socket];
        state.set_aside = Some(SetAside { received, message, since: Instant::now(), mark });
        // The short way would pass it by.
        state.short_in = ShortIn::No;
        true
    }

    /// The receive that was tried before the application asked.
    #[cold]
    pub(in crate::engine) fn take_set_aside(&mut self, socket: usize, into: &mut Message) -> Received {
        let state = &mut self.sockets[socket];
        state.short_in = if state.notices.is_empty() { state.rules.short_in } else { ShortIn::No };
        let Some(SetAside { received, message, .. }) = state.set_aside.take() else {
            return Received::Nothing;
        };
        if received == Received::Message {
            *into = message;
        }
        received
    }

    /// REQ: a new request is sent, and the application did not want the reply that it was told of. It counts
    /// as received.
    #[inline]
    pub fn drop_set_aside(&mut self, socket: usize) {
        if self.sockets[socket].set_aside.is_some() {
            self.take_set_aside(socket, &mut Message::new());
        }
    }

    /// Whether the next send returns at once: there is room, or the message would be dropped and counted.
    pub fn is_writable(&mut self, socket: usize) -> bool {
        let Some(state) = self.sockets.get(socket) else { return false };
        (state.rules.is_writable)(self, socket)
    }

    fn sends_wait(&self, socket: usize) -> bool {
        matches!(self.sockets[socket].overflow, Overflow::Block | Overflow::Error)
    }

    /// PUSH, DEALER, PAIR: room for one, or for all, as the option says.
    pub fn is_writable_by_distribution(&mut self, socket: usize) -> bool {
        if self.sockets[socket].backlog.is_some() {
            return self.is_settled_writable(socket);
        }
        match self.sockets[socket].options.distribution {
            Distribution::RoundRobin => self.is_writable_to_any(socket),
            Distribution::All => self.is_writable_to_all(socket),
        }
    }

    /// REQ, ROUTER, STREAM: any peer has room.
    pub fn is_writable_to_any(&mut self, socket: usize) -> bool {
        if !self.sends_wait(socket) {
            return true;
        }
        let state = &self.sockets[socket];
        if let Some(&next) = state.with_room.get(state.send_turn)
            && self.has_room(next)
        {
            return true;
        }
        (0..self.sockets[socket].links.len()).any(|slot| self.has_room(self.sockets[socket].links[slot]))
    }

    /// ROUTER, STREAM: the peer of that name has room, or there is none of that name.
    pub fn is_writable_to_named(&mut self, socket: usize, name: &[u8]) -> bool {
        let Some(state) = self.sockets.get(socket) else { return false };
        let named = state.names.link_of(name);
        !self.sends_wait(socket) || named.is_none_or(|link| self.has_room(link))
    }

    /// PUB, XPUB, XSUB: every peer has room, or there is none.
    pub fn is_writable_to_all(&mut self, socket: usize) -> bool {
        !self.sends_wait(socket)
            || (0..self.sockets[socket].links.len())
                .all(|slot| self.has_room(self.sockets[socket].links[slot]))
    }

    /// REP: the peer that is to be answered has room.
    pub fn is_writable_to(&mut self, socket: usize, link: usize) -> bool {
        !self.sends_wait(socket) || self.has_room(link)
    }
}
