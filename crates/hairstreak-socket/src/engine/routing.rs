//! Which link a message goes to, and which it is taken from.
//!
//! Outgoing: round robin over the links with room (PUSH, DEALER), a copy to every link
//! (`Distribution::All`), or the link that the first frame names (ROUTER). Incoming: fair queueing,
//! one message from each link that has any, in turn; ROUTER puts the link's routing id in front.

use hairstreak_base::{Frame, Message};
use hairstreak_wire::zmtp::SocketType;

use super::state::{LinkKind, State};
use super::wait::{Engine, RING_TRAFFIC_BUSY};
use crate::options::Distribution;
use crate::outgoing::Outgoing;
use crate::session::SessionError;

/// The longest body that takes the short way.
pub(super) const SHORT_SIZE_MAX: usize = 8 * 1024;

/// What became of a message that was to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Done,
    /// No peer has room now.
    Full,
    /// ROUTER: no peer has that routing id.
    Unroutable,
    Closed,
}

impl State {
    /// Sends a short message if it is as simple as that: one peer's turn, which gathers already.
    #[inline]
    pub fn send_gathering(&mut self, socket: usize, body: &[u8]) -> bool {
        let Some(state) = self.sockets.get_mut(socket) else { return false };
        let Some(&index) = state.with_room.get(state.send_turn) else { return false };
        if body.len() > SHORT_SIZE_MAX || !state.short_in_turn {
            return false;
        }
        let gathered = match &mut self.links[index].kind {
            LinkKind::Stream(session) => session.push_gathering(body),
            LinkKind::Ring(ring) => ring.push_gathering(body),
        };
        if gathered {
            state.sent += 1;
            state.send_turn += 1;
            if state.send_turn == state.with_room.len() {
                state.send_turn = 0;
            }
        }
        gathered
    }

    /// Sends one message if a peer has room.
    pub fn send(&mut self, engine: &Engine, socket: usize, message: &Outgoing<'_>) -> Sent {
        let Some(state) = self.sockets.get_mut(socket) else { return Sent::Closed };
        if state.socket_type == SocketType::Router {
            return self.send_to_named(engine, socket, message);
        }
        if state.options.distribution == Distribution::All {
            return self.send_to_all(engine, socket, message);
        }
        loop {
            let Some(state) = self.sockets.get_mut(socket) else { return Sent::Closed };
            if state.with_room.is_empty() {
                return self.find_room(engine, socket, message);
            }
            if state.send_turn >= state.with_room.len() {
                state.send_turn = 0;
            }
            let link = state.with_room[state.send_turn];
            if self.send_to_link(engine, link, message, 0) {
                let state = &mut self.sockets[socket];
                state.sent += 1;
                state.send_turn += 1;
                if state.send_turn >= state.with_room.len() {
                    state.send_turn = 0;
                }
                return Sent::Done;
            }
        }
    }

    /// No stream has room; rings make theirs without an event.
    #[cold]
    fn find_room(&mut self, engine: &Engine, socket: usize, message: &Outgoing<'_>) -> Sent {
        let state = &mut self.sockets[socket];
        if state.closed {
            return Sent::Closed;
        }
        for index in 0..state.links.len() {
            self.list_room(self.sockets[socket].links[index]);
        }
        if self.sockets[socket].with_room.is_empty() {
            // Whoever is to make room in a ring has messages to take: it is likely to be at it.
            self.ring_traffic += RING_TRAFFIC_BUSY;
            return Sent::Full;
        }
        self.send(engine, socket, message)
    }

    fn send_to_all(&mut self, engine: &Engine, socket: usize, message: &Outgoing<'_>) -> Sent {
        let state = &mut self.sockets[socket];
        if state.closed {
            return Sent::Closed;
        }
        state.sent += 1;
        if state.links.is_empty() {
            state.dropped_no_peer += 1;
            return Sent::Done;
        }
        let links = std::mem::take(&mut self.sockets[socket].links);
        links.iter().for_each(|link| self.list_room(*link));
        let ready = links.iter().all(|link| {
            let link = &mut self.links[*link];
            let has_room = match &mut link.kind {
                // A ring's room goes without an event: ask it.
                LinkKind::Ring(ring) => ring.has_room(),
                LinkKind::Stream(_) => true,
            };
            link.listed_room && has_room
        });
        self.sockets[socket].links = links;
        if !ready {
            self.sockets[socket].sent -= 1;
            return Sent::Full;
        }
        // Sending may end a link, which leaves the list: go by what is still there.
        let links = self.sockets[socket].links.clone();
        for link in links {
            if self.links.get(link).is_some_and(|l| l.socket == socket) {
                self.send_to_link(engine, link, message, 0);
            }
        }
        Sent::Done
    }

    fn send_to_named(&mut self, engine: &Engine, socket: usize, message: &Outgoing<'_>) -> Sent {
        let state = &self.sockets[socket];
        if state.closed {
            return Sent::Closed;
        }
        let name = match message {
            Outgoing::Frames([name, _, ..]) => *name,
            Outgoing::Message(message) if message.frame_count() > 1 => message.frame(0).unwrap_or_default(),
            _ => return Sent::Unroutable,
        };
        let Some(&link) = state.by_routing_id.get(name) else { return Sent::Unroutable };
        self.list_room(link);
        if !self.links[link].listed_room {
            return Sent::Full;
        }
        if !self.send_to_link(engine, link, message, 1) {
            return Sent::Unroutable;
        }
        self.sockets[socket].sent += 1;
        Sent::Done
    }

    /// Puts the message on its way. False when the link had no room or failed: it is not listed
    /// with room any more then.
    #[inline]
    fn send_to_link(
        &mut self,
        engine: &Engine,
        index: usize,
        message: &Outgoing<'_>,
        skip_frames: usize,
    ) -> bool {
        if self.is_at_mark(index) {
            self.unlist_room_if_full(index);
            if !self.links[index].listed_room {
                return false;
            }
        }
        let link = &mut self.links[index];
        match &mut link.kind {
            LinkKind::Stream(session) => match session.push(message, skip_frames) {
                Ok(gathers) => {
                    let session_failed = session.write_failed;
                    if !gathers {
                        self.io_since_turn += 1;
                        link.wrote = true;
                    } else if !link.listed_dirty {
                        self.list_dirty(engine, index);
                    } else {
                        self.arm_flush(engine);
                    }
                    if session_failed {
                        self.unlist_room(index);
                        self.on_readable(engine, index);
                    } else if self.is_at_mark(index) {
                        self.unlist_room_if_full(index);
                    }
                    true
                }
                Err(error) => {
                    self.end_link(engine, index, &error);
                    false
                }
            },
            LinkKind::Ring(ring) => {
                if !ring.has_room() || !ring.push(message, skip_frames) {
                    self.unlist_room(index);
                    return false;
                }
                if !ring.is_gathering() {
                    self.io_since_turn += 1;
                    link.wrote = true;
                } else if !link.listed_dirty {
                    self.list_dirty(engine, index);
                } else {
                    self.arm_flush(engine);
                }
                true
            }
        }
    }

    /// Takes the socket's next message if it is as simple as that: a short one that is here already.
    #[inline]
    pub fn receive_ready(&mut self, socket: usize, into: &mut Message) -> bool {
        let Some(state) = self.sockets.get_mut(socket) else { return false };
        let Some(&index) = state.with_messages.get(state.receive_turn) else { return false };
        if state.socket_type == SocketType::Router {
            return false;
        }
        let taken = match &mut self.links[index].kind {
            LinkKind::Stream(session) => session.take_ready(into),
            LinkKind::Ring(ring) => {
                self.ring_traffic += 1;
                ring.take_ready(into)
            }
        };
        if taken {
            state.received += 1;
            state.receive_turn += 1;
            if state.receive_turn == state.with_messages.len() {
                state.receive_turn = 0;
            }
        }
        taken
    }

    /// Puts the socket's next message into `into`, reading what is readable. False: none is here.
    pub fn receive(&mut self, engine: &Engine, socket: usize, into: &mut Message) -> bool {
        loop {
            let Some(state) = self.sockets.get_mut(socket) else { return false };
            let count = state.with_messages.len();
            if count == 0 {
                if self.find_messages(socket) {
                    continue;
                }
                return false;
            }
            let turn = if state.receive_turn < count { state.receive_turn } else { 0 };
            state.receive_turn = turn;
            let index = state.with_messages[turn];
            let link = &mut self.links[index];
            let next = match &mut link.kind {
                LinkKind::Stream(session) => session.next_message(into),
                LinkKind::Ring(ring) => {
                    self.ring_traffic += 1;
                    Ok(ring.pop(into))
                }
            };
            match next {
                Ok(true) => {
                    state.received += 1;
                    state.receive_turn += 1;
                    if state.receive_turn == count {
                        state.receive_turn = 0;
                    }
                    let mut unread = false;
                    if let LinkKind::Stream(session) = &mut link.kind {
                        self.io_since_turn += session.take_read_count();
                        unread = session.readable;
                    }
                    if state.socket_type == SocketType::Router {
                        *into = with_routing_id(&link.routing_id, into);
                    }
                    if unread && self.watched {
                        // The caller may stop here, and no edge will tell of what is left.
                        self.arm_look(engine);
                    }
                    return true;
                }
                Ok(false) if matches!(&link.kind, LinkKind::Stream(session) if session.readable) => {
                    // Commands without end, or a large body on its way: it is on again after a turn of the
                    // engine, and the others go on meanwhile.
                    self.unlist_messages(index);
                    self.unread_left = true;
                    self.io_since_turn += 1;
                    self.flush_answers(engine, index);
                }
                Ok(false) => self.link_is_dry(engine, index),
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

    fn link_is_dry(&mut self, engine: &Engine, index: usize) {
        self.io_since_turn += 1;
        self.unlist_messages(index);
        let link = &self.links[index];
        match &link.kind {
            LinkKind::Stream(_) => self.flush_answers(engine, index),
            LinkKind::Ring(ring) if ring.is_over() => self.end_link(engine, index, &SessionError::Closed),
            LinkKind::Ring(_) => {}
        }
    }

    /// Answers to commands that came between the messages.
    fn flush_answers(&mut self, engine: &Engine, index: usize) {
        if matches!(&self.links[index].kind, LinkKind::Stream(session) if !session.outgoing.is_empty()) {
            self.flush_link(engine, index);
        }
    }

    /// Writes or publishes what a link has gathered.
    pub fn flush_link(&mut self, engine: &Engine, index: usize) {
        let result = match &mut self.links[index].kind {
            LinkKind::Stream(session) => session.flush(),
            LinkKind::Ring(ring) => {
                ring.publish();
                Ok(())
            }
        };
        match result {
            Ok(()) if self.has_write_failed(index) => {
                self.unlist_room(index);
                self.on_readable(engine, index);
            }
            Ok(()) => self.list_room(index),
            Err(error) => self.end_link(engine, index, &error),
        }
    }

    fn has_write_failed(&self, index: usize) -> bool {
        matches!(&self.links[index].kind, LinkKind::Stream(session) if session.write_failed)
    }

    /// Writes and publishes all that has gathered. Links whose kernel buffer is full stay listed.
    pub fn flush_dirty(&mut self, engine: &Engine, about_to_sleep: bool) {
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.retain(|&index| {
            if !self.links.get(index).is_some_and(|link| link.listed_dirty) {
                return false;
            }
            self.flush_link(engine, index);
            let Some(link) = self.links.get_mut(index) else { return false };
            let left = match &mut link.kind {
                LinkKind::Stream(session) => {
                    if about_to_sleep {
                        session.forget_last_write();
                    }
                    !session.outgoing.is_empty()
                }
                LinkKind::Ring(ring) => {
                    if about_to_sleep {
                        ring.forget_last_wake();
                    }
                    false
                }
            };
            link.listed_dirty = left;
            left
        });
        dirty.append(&mut self.dirty);
        self.dirty = dirty;
    }

    #[cold]
    fn list_dirty(&mut self, engine: &Engine, index: usize) {
        let link = &mut self.links[index];
        (link.listed_dirty, link.wrote) = (true, false);
        self.dirty.push(index);
        self.arm_flush(engine);
    }

    /// Lists the link with room if it is ready, not listed and below its low-water marks.
    pub fn list_room(&mut self, index: usize) {
        let link = &mut self.links[index];
        if link.listed_room || link.peer.is_none() {
            return;
        }
        let socket = link.socket;
        let state = &mut self.sockets[socket];
        let (count_low, bytes_low) = (state.options.send_count_low, state.options.send_bytes_low);
        let is_low = match &mut link.kind {
            LinkKind::Stream(session) => {
                !session.write_failed
                    && session.outgoing.queued_count() <= count_low
                    && session.outgoing.queued_bytes() <= bytes_low
            }
            LinkKind::Ring(ring) => ring.is_low(count_low, bytes_low),
        };
        if !is_low {
            return;
        }
        if state.closed || !crate::pattern::sends(state.socket_type) {
            return;
        }
        link.listed_room = true;
        state.with_room.push(index);
        self.notify(socket);
    }

    /// Whether a stream holds as much as its marks allow.
    fn is_at_mark(&self, index: usize) -> bool {
        let link = &self.links[index];
        let options = &self.sockets[link.socket].options;
        matches!(&link.kind, LinkKind::Stream(session)
            if session.outgoing.queued_count() >= options.send_count_max.max(1)
                || session.outgoing.queued_bytes() >= options.send_bytes_max.max(1))
    }

    #[cold]
    fn unlist_room_if_full(&mut self, index: usize) {
        let link = &mut self.links[index];
        if let LinkKind::Stream(session) = &mut link.kind {
            // A count may be high only because small messages gather: writing them makes room. A write
            // that fails is found again by the next flush, which ends the link.
            let _ = session.flush();
        }
        if self.is_at_mark(index) {
            self.unlist_room(index);
        }
    }

    pub fn unlist_room(&mut self, index: usize) {
        let link = &mut self.links[index];
        if std::mem::take(&mut link.listed_room) {
            let state = &mut self.sockets[link.socket];
            remove_turn(&mut state.with_room, &mut state.send_turn, index);
        }
    }

    pub fn list_messages(&mut self, index: usize) {
        let link = &mut self.links[index];
        if !link.listed_messages {
            link.listed_messages = true;
            self.sockets[link.socket].with_messages.push(index);
        }
    }

    pub fn unlist_messages(&mut self, index: usize) {
        let link = &mut self.links[index];
        if std::mem::take(&mut link.listed_messages) {
            let state = &mut self.sockets[link.socket];
            remove_turn(&mut state.with_messages, &mut state.receive_turn, index);
        }
    }
}

/// Removes `index` from a list that is taken in turn, so that nobody's turn is skipped.
pub(super) fn remove_turn(list: &mut Vec<usize>, turn: &mut usize, index: usize) {
    if let Some(at) = list.iter().position(|&other| other == index) {
        list.remove(at);
        if *turn > at {
            *turn -= 1;
        }
    }
}

fn with_routing_id(id: &Frame, message: &Message) -> Message {
    std::iter::once(id).chain(message.as_frames()).cloned().collect()
}
