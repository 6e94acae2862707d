//! `Held`: messages before a link, of a socket that drops the oldest (`Overflow::DropOldest`). What a
//! link has taken is on its way and cannot be dropped any more, so it gets little at a time: at most half
//! of what the marks allow, and no more than one write of a stream.

use std::collections::VecDeque;

use hairstreak_base::{Message, SEGMENT_SIZE};

use super::link::LinkKind;
use super::state::State;
use super::wait::Engine;
use crate::outgoing::{Outgoing, Parcel};

#[derive(Debug, Default)]
pub(crate) struct Held {
    messages: VecDeque<Message>,
    bytes: usize,
}

impl Held {
    pub fn count(&self) -> usize {
        self.messages.len()
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn push(&mut self, message: Message) {
        self.bytes += message.size();
        self.messages.push_back(message);
    }

    fn pop(&mut self) -> Option<Message> {
        let message = self.messages.pop_front()?;
        self.bytes -= message.size();
        Some(message)
    }
}

impl State {
    /// Sends, or holds the message and drops the oldest that are too many.
    #[cold]
    pub fn send_or_hold(&mut self, engine: &Engine, index: usize, parcel: &Parcel<'_>) -> bool {
        self.push_held(engine, index);
        let Some(link) = self.links.get(index) else { return false };
        if link.held.as_ref().is_some_and(|held| held.count() == 0) && self.may_pass(index) {
            return self.push_to_link(engine, index, parcel);
        }
        let (queued_count, queued_bytes) = self.links[index].kind.queued();
        let link = &mut self.links[index];
        let state = &mut self.sockets[link.socket];
        let Some(held) = &mut link.held else { return false };
        held.push(parcel.to_message());
        while held.count() > 1
            && (held.count() + queued_count > state.options.send_count_max
                || held.bytes() + queued_bytes > state.options.send_bytes_max)
        {
            held.pop();
            link.drops.oldest += 1;
            state.drops.oldest += 1;
        }
        // Who never waits still has to see that peers made room; if nobody calls, the background thread.
        self.work_since_turn.add_io(1);
        if self.links[index].is_ring() {
            self.rings_awaited = true;
            self.arm_look(engine);
        }
        true
    }

    /// Gives the link what it may have of what is held.
    pub fn push_held(&mut self, engine: &Engine, index: usize) {
        while self.links.get(index).is_some_and(|link| link.held.as_ref().is_some_and(|h| h.count() > 0))
            && self.may_pass(index)
        {
            let Some(message) = self.links[index].held.as_mut().and_then(|held| held.pop()) else { return };
            self.push_to_link(engine, index, &Parcel::plain(&Outgoing::Message(&message)));
        }
    }

    /// The socket closes: all that is held goes to the link, as far as it takes it.
    pub fn let_go_of_held(&mut self, engine: &Engine, index: usize) {
        while let Some(message) = self.links.get_mut(index).and_then(|link| link.held.as_mut()?.pop()) {
            if !self.push_to_link(engine, index, &Parcel::plain(&Outgoing::Message(&message))) {
                let Some(link) = self.links.get(index) else { return };
                self.sockets[link.socket].drops.peer_lost += 1;
            }
        }
    }

    fn may_pass(&mut self, index: usize) -> bool {
        let link = &mut self.links[index];
        let options = &self.sockets[link.socket].options;
        let (count, bytes) = link.kind.queued();
        let has_room = match &mut link.kind {
            LinkKind::Stream(session) => !session.connection.has_write_failed() && bytes < SEGMENT_SIZE,
            LinkKind::Ring(ring) => ring.has_room(),
        };
        has_room && count < (options.send_count_max / 2).max(1) && bytes < (options.send_bytes_max / 2).max(1)
    }
}
