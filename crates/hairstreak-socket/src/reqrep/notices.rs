//! What a ROUTER tells its application of peers that come and go: messages of the peer's name and an empty frame, received
//! before anything else.
//!
//! ```text
//! of one name, in this order:   coming | messages | going | coming | messages | going ...
//! ```
//!
//! Invariants: a peer's coming is put there before its link can be received from, and its going when nothing of it is left.
//! When a name comes again while messages of the one before are unread, those, and its going, are put there first. So only
//! what is in `first` has to come before what the links hold, and the short way of a receive is closed as long as there is
//! anything.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use hairstreak_base::{Bytes, Message};

use crate::engine::{Engine, LinkKind, ShortIn, State};
use crate::options::RouterNotify;
use crate::session::SessionError;

/// While so much waits to be received, peers come in vain.
const NOTICES_MAX: usize = 4096;

/// What a ROUTER with notices keeps of them.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    /// Received before what the links hold.
    first: VecDeque<First>,
    /// Links that have ended and of which messages are left, by their peers' names.
    leaving: HashMap<Vec<u8>, usize>,
}

#[derive(Debug)]
struct First {
    message: Message,
    since: Instant,
    is_notice: bool,
}

impl Notices {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    pub fn has_room(&self) -> bool {
        self.first.len() < NOTICES_MAX
    }

    /// How long the first has waited.
    pub fn age(&self, now: Instant) -> Duration {
        self.first.front().map_or(Duration::ZERO, |first| now.saturating_duration_since(first.since))
    }

    /// Nobody will receive what is there. Returns how many messages of peers that was.
    pub fn give_up(&mut self) -> usize {
        self.first.drain(..).filter(|first| !first.is_notice).count()
    }
}

impl State {
    /// The link is ready, and is called so.
    pub(super) fn note_coming(&mut self, link: usize) {
        let socket = self.links[link].socket;
        let RouterNotify { connect, disconnect } = self.sockets[socket].options.router_notify;
        self.links[link].is_noted = connect || disconnect;
        if connect {
            self.push_notice(link);
        }
    }

    /// The link's connection is over; `gone`: so are its messages.
    pub(super) fn note_going(&mut self, link: usize, gone: bool) {
        let found = &mut self.links[link];
        if !found.is_noted {
            return;
        }
        let state = &mut self.sockets[found.socket];
        if !gone {
            state.notices.leaving.insert(found.routing_id.as_bytes().to_vec(), link);
            return;
        }
        found.is_noted = false;
        let name = found.routing_id.as_bytes();
        if state.notices.leaving.get(name) == Some(&link) {
            state.notices.leaving.remove(name);
        }
        if state.options.router_notify.disconnect && !state.closed {
            self.push_notice(link);
        }
    }

    /// A peer of that name is about to come: what is left of the one before is received first.
    pub(super) fn put_left_first(&mut self, engine: &Engine, socket: usize, name: &[u8]) {
        let Some(&elder) = self.sockets[socket].notices.leaving.get(name) else { return };
        let link = &mut self.links[elder];
        let now = Instant::now();
        let since = now.checked_sub(link.waiting_age(now)).unwrap_or(now);
        let mut body = Message::new();
        loop {
            let link = &mut self.links[elder];
            let taken = match &mut link.kind {
                // It has ended: at its end is nothing but that.
                LinkKind::Stream(session) => session.next_message(&mut body, link.received).unwrap_or(false),
                LinkKind::Ring(ring) => ring.pop(&mut body),
            };
            if !taken {
                break;
            }
            let mut message = Message::new();
            message.set_with_first(&link.routing_id, std::mem::take(&mut body));
            self.push_first(socket, First { message, since, is_notice: false });
        }
        self.end_link(engine, elder, &SessionError::Closed);
    }

    fn push_notice(&mut self, link: usize) {
        let link = &self.links[link];
        let message = Message::from_iter([link.routing_id.clone(), Bytes::EMPTY]);
        let first = First { message, since: Instant::now(), is_notice: true };
        self.push_first(link.socket, first);
    }

    fn push_first(&mut self, socket: usize, first: First) {
        let state = &mut self.sockets[socket];
        state.notices.first.push_back(first);
        state.short_in = ShortIn::No;
    }

    /// Takes what is received before anything else, if there is anything.
    pub(super) fn take_first(&mut self, socket: usize, into: &mut Message) -> bool {
        let state = &mut self.sockets[socket];
        let Some(first) = state.notices.first.pop_front() else { return false };
        *into = first.message;
        state.received += 1;
        if state.notices.is_empty() {
            state.short_in = state.rules.short_in;
        }
        true
    }
}
