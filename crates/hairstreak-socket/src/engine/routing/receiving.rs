//! Receiving: fair queueing, one message from each link that has any, in turn.

use hairstreak_base::Message;

use crate::batch::Batch;
use crate::engine::Engine;
use crate::engine::link::LinkKind;
use crate::engine::state::{State, Unread};
use crate::session::SessionError;

/// Messages that are not for the application, dropped in one go.
pub(crate) const UNEXPECTED_MAX: usize = 256;

/// What came of looking for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// There was one.
    Message,
    /// None is here now.
    Nothing,
    /// REQ, REP: it is time to send.
    OutOfTurn,
    /// REQ: the peer that had the request is gone.
    PeerLost,
}

/// Whether a short message that is here already may go to the application without further ado.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShortIn {
    No,
    AsItCame,
    /// With the peer's name in front.
    Named,
    /// If the application subscribed to it.
    Filtered,
}

impl State {
    /// Takes the socket's next message if it is as simple as that: a short one that is here already.
    #[inline(always)]
    pub fn receive_ready(&mut self, socket: usize, into: &mut Message) -> bool {
        // Most sockets have one peer, and whose turn it is need not be found out.
        if let Some(state) = self.sockets.get(socket)
            && state.short_in == ShortIn::AsItCame
            && let &[index] = state.with_messages.as_slice()
            && let Some(link) = self.links.get_mut(index)
        {
            let taken = link.kind.take_ready(into);
            link.received += u64::from(taken);
            return taken;
        }
        self.receive_ready_otherwise(socket, into)
    }

    #[inline(never)]
    fn receive_ready_otherwise(&mut self, socket: usize, into: &mut Message) -> bool {
        match self.sockets.get(socket).map(|state| state.short_in) {
            Some(ShortIn::Named) => self.take_ready_named(socket, into),
            Some(ShortIn::Filtered) => self.take_ready_if_wanted(socket, into),
            Some(ShortIn::AsItCame) => self.take_ready(socket, into).is_some(),
            Some(ShortIn::No) | None => false,
        }
    }

    /// As [`State::receive_ready`], of as many messages as are here and fit.
    #[inline]
    pub fn receive_ready_many(&mut self, socket: usize, batch: &mut Batch<'_>) {
        self.append_ready(socket, batch);
        while !batch.is_full() && self.receive_ready(socket, batch.place()) {
            batch.keep();
        }
    }

    /// The only link that has any messages: they are appended in one loop, if they go to the application as they came.
    #[inline]
    fn append_ready(&mut self, socket: usize, batch: &mut Batch<'_>) {
        let Some(state) = self.sockets.get(socket) else { return };
        let &[index] = state.with_messages.as_slice() else { return };
        if state.short_in != ShortIn::AsItCame || state.receive_turn != 0 {
            return;
        }
        let link = &mut self.links[index];
        let count = match &mut link.kind {
            LinkKind::Ring(ring) => {
                batch.append(|into, max, bytes_max| ring.take_ready_many(into, max, bytes_max))
            }
            LinkKind::Stream(session) => batch.append(|into, max, _| session.take_ready_many(into, max)),
        };
        link.received += count as u64;
    }

    /// Tells which link it was of.
    #[inline(always)]
    fn take_ready(&mut self, socket: usize, into: &mut Message) -> Option<usize> {
        let state = self.sockets.get_mut(socket)?;
        let &index = state.with_messages.get(state.receive_turn)?;
        let link = &mut self.links[index];
        if !link.kind.take_ready(into) {
            return None;
        }
        link.received += 1;
        let next = state.receive_turn + 1;
        state.receive_turn = if next == state.with_messages.len() { 0 } else { next };
        Some(index)
    }

    fn take_ready_named(&mut self, socket: usize, into: &mut Message) -> bool {
        let mut message = Message::new();
        let Some(link) = self.take_ready(socket, &mut message) else { return false };
        self.sockets[socket].names.guess = link;
        into.set_with_first(&self.links[link].routing_id, message);
        true
    }

    /// `into` stays what it is if nobody wants the message.
    fn take_ready_if_wanted(&mut self, socket: usize, into: &mut Message) -> bool {
        let mut message = Message::new();
        let Some(link) = self.take_ready(socket, &mut message) else { return false };
        let wanted = self.sockets[socket].subscriber.wants(&message);
        if wanted {
            *into = message;
        } else {
            self.drop_unexpected(socket, link);
        }
        wanted
    }

    /// Puts the socket's next message into `into` as its pattern does, reading what is readable.
    pub fn receive(&mut self, engine: &Engine, socket: usize, into: &mut Message) -> Received {
        let Some(state) = self.sockets.get(socket) else { return Received::Nothing };
        if state.set_aside.is_some() {
            return self.take_set_aside(socket, into);
        }
        (state.rules.receive)(self, engine, socket, into)
    }

    /// PULL, DEALER, PAIR: the next message as it came.
    pub fn receive_as_it_came(&mut self, engine: &Engine, socket: usize, into: &mut Message) -> Received {
        match self.receive_in_turn(engine, socket, into) {
            Some(_) => Received::Message,
            None => Received::Nothing,
        }
    }

    /// Takes the next message, and tells which link it is of.
    pub fn receive_in_turn(&mut self, engine: &Engine, socket: usize, into: &mut Message) -> Option<usize> {
        loop {
            let state = self.sockets.get_mut(socket)?;
            let count = state.with_messages.len();
            if count == 0 {
                self.pause_count += 1;
                if self.find_messages(socket) {
                    continue;
                }
                return None;
            }
            let turn = if state.receive_turn < count { state.receive_turn } else { 0 };
            state.receive_turn = turn;
            let index = state.with_messages[turn];
            let link = &mut self.links[index];
            let next = match &mut link.kind {
                LinkKind::Stream(session) => session.next_message(into, link.received),
                LinkKind::Ring(ring) => {
                    let popped = ring.pop(into);
                    self.ring_traffic += ring.take_traffic();
                    // What came alone is a question or an answer, perhaps.
                    self.pause_count += u64::from(!ring.has_seen_messages());
                    Ok(popped)
                }
            };
            match next {
                Ok(true) => {
                    link.received += 1;
                    state.last_link = index;
                    state.receive_turn += 1;
                    if state.receive_turn == count {
                        state.receive_turn = 0;
                    }
                    let mut unread = false;
                    if let LinkKind::Stream(session) = &mut link.kind {
                        self.work_since_turn.add_io(session.connection.take_read_count());
                        self.work_since_turn.add_further_frames(into.frame_count() - 1);
                        unread = session.connection.is_readable() || session.is_over();
                    }
                    if unread && self.watched {
                        // The caller may stop here, and no edge will tell of what is left.
                        self.arm_look(engine);
                    }
                    return Some(index);
                }
                Ok(false) if matches!(&link.kind, LinkKind::Stream(session) if session.connection.is_readable()) =>
                {
                    // Commands without end, or a large body on its way: it is on again after a turn of the
                    // engine, and the others go on meanwhile.
                    self.unlist_messages(index);
                    self.come_back_to(Unread::Link(index));
                    self.flush_answers(engine, index);
                    self.hear_done(engine, index);
                }
                Ok(false) => self.link_is_dry(engine, index),
                Err(error @ SessionError::Settlement(_)) => self.refuse_link(engine, index, &error),
                Err(error) => self.end_link(engine, index, &error),
            }
        }
    }

    /// Rings have no event to list them: looks. Returns whether any has a message.
    #[cold]
    fn find_messages(&mut self, socket: usize) -> bool {
        let state = &mut self.sockets[socket];
        for slot in 0..state.rings.len() {
            let index = state.rings[slot];
            let link = &mut self.links[index];
            if let LinkKind::Ring(ring) = &link.kind
                && !link.listed_messages
                && (ring.has_messages() || ring.is_over())
            {
                link.listed_messages = true;
                state.with_messages.push(index);
            }
        }
        !state.with_messages.is_empty()
    }

    pub fn link_is_dry(&mut self, engine: &Engine, index: usize) {
        self.unlist_messages(index);
        let link = &self.links[index];
        // A look in vain by one that keeps looking is no work for which others would have to get a turn.
        self.work_since_turn.add_io(u32::from(!self.sockets[link.socket].looked_at));
        match &link.kind {
            LinkKind::Stream(_) => {
                self.flush_answers(engine, index);
                self.hear_done(engine, index);
            }
            LinkKind::Ring(ring) if ring.is_over() => self.end_link(engine, index, &SessionError::Closed),
            LinkKind::Ring(_) => {}
        }
    }

    /// A message that is not for the application: dropped and counted, at its peer too.
    pub fn drop_unexpected(&mut self, socket: usize, link: usize) {
        self.sockets[socket].drops.unexpected += 1;
        if let Some(link) = self.links.get_mut(link) {
            link.received -= 1;
            link.drops.unexpected += 1;
        }
    }
}
