//! Sending: in turn over the links with room, or a copy to each of several.

use hairstreak_base::{INLINE_SIZE_MAX, Message};
use hairstreak_wire::zmtp::frame::SHORT_BODY_SIZE_MAX;

use crate::engine::Engine;
use crate::engine::link::{Link, LinkKind};
use crate::engine::state::State;
use crate::engine::wait::RING_TRAFFIC_BUSY;
use crate::options::{Distribution, Options, Overflow};
use crate::outgoing::{Outgoing, Parcel};
use crate::pubsub::index::SubscriptionError;
use crate::session::{SHARE_SIZE, Session};

/// The longest body that takes the short way.
pub(in crate::engine) const SHORT_SIZE_MAX: usize = 8 * 1024;

/// What became of a message that was to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// Accepted, or dropped and counted as the socket's overflow policy says.
    Done,
    /// No peer has room now.
    Full,
    /// ROUTER: no peer has that routing id.
    Unroutable,
    /// REQ, REP: it is time to receive.
    OutOfTurn,
    /// XSUB: it subscribes to more than it may.
    Refused(SubscriptionError),
    Closed,
}

/// Whether a short message may go to a link that gathers without further ado.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShortOut {
    No,
    /// To the next link in turn.
    InTurn,
    /// To the link of the peer that the first of two frames names.
    ToNamed,
}

impl State {
    /// Sends the message if it is as simple as that: short, or shared with a peer in this process; to a link that gathers
    /// already.
    pub fn send_short(&mut self, socket: usize, message: &Outgoing<'_>) -> bool {
        match *message {
            Outgoing::Body(body) => self.send_short_body(socket, body),
            Outgoing::Message(message) => self.send_short_message(socket, message),
            Outgoing::Frames([name, body]) => self.send_gathering_to(socket, name, body),
            Outgoing::Frames(_) | Outgoing::Headed { .. } => false,
        }
    }

    /// As [`State::send_short`].
    #[inline(always)]
    pub fn send_short_body(&mut self, socket: usize, body: &[u8]) -> bool {
        // Most sockets have one peer, and whose turn it is need not be found out.
        if body.len() <= INLINE_SIZE_MAX
            && let Some(state) = self.sockets.get_mut(socket)
            && state.short_out == ShortOut::InTurn
            && let &[index] = state.with_room.as_slice()
            && let Some(link) = self.links.get_mut(index)
        {
            let gathered = link.kind.push_gathering(body);
            state.sent += u64::from(gathered);
            return gathered;
        }
        self.send_body_in_turn(socket, body)
    }

    #[inline(never)]
    fn send_body_in_turn(&mut self, socket: usize, body: &[u8]) -> bool {
        self.send_gathering(socket, |_, kind| body.len() <= SHORT_SIZE_MAX && kind.push_gathering(body))
    }

    /// As [`State::send_short`].
    #[inline(never)]
    pub fn send_short_message(&mut self, socket: usize, message: &Message) -> bool {
        match message.as_frames() {
            [frame] => self.send_gathering(socket, |options, kind| match kind {
                LinkKind::Ring(ring) => {
                    frame.size() <= options.message_size_max && ring.share_gathering(frame)
                }
                LinkKind::Stream(session) => {
                    frame.size() <= SHORT_SIZE_MAX && session.push_gathering(frame.as_bytes())
                }
            }),
            [name, body] => self.send_gathering_to(socket, name.as_bytes(), body.as_bytes()),
            _ => false,
        }
    }

    fn send_gathering_to(&mut self, socket: usize, name: &[u8], body: &[u8]) -> bool {
        let Some(state) = self.sockets.get_mut(socket) else { return false };
        if state.short_out != ShortOut::ToNamed || name.len() + body.len() > SHORT_SIZE_MAX {
            return false;
        }
        let is_named = |link: &Link| link.socket == socket && link.routing_id.as_bytes() == name;
        if !self.links.get(state.names.guess).is_some_and(is_named) {
            let Some(link) = state.names.link_of(name) else { return false };
            state.names.guess = link;
        }
        // One that has ended, or whose name another took over, has no room.
        let link = &mut self.links[state.names.guess];
        let gathered = link.listed_room && link.kind.push_gathering(body);
        state.sent += u64::from(gathered);
        gathered
    }

    #[inline(always)]
    fn send_gathering(&mut self, socket: usize, push: impl FnOnce(&Options, &mut LinkKind) -> bool) -> bool {
        let Some(state) = self.sockets.get_mut(socket) else { return false };
        let Some(&index) = state.with_room.get(state.send_turn) else { return false };
        if state.short_out != ShortOut::InTurn {
            return false;
        }
        let gathered = push(&state.options, &mut self.links[index].kind);
        if gathered {
            state.sent += 1;
            let next = state.send_turn + state.turn_step;
            state.send_turn = if next == state.with_room.len() { 0 } else { next };
        }
        gathered
    }

    /// As [`State::send_short`], for as many of these, from the first on, as can go to the only peer with room.
    #[inline]
    pub fn send_gathering_many(&mut self, socket: usize, messages: &[Outgoing<'_>]) -> usize {
        let Some(state) = self.sockets.get_mut(socket) else { return 0 };
        let &[index] = state.with_room.as_slice() else { return 0 };
        if state.short_out != ShortOut::InTurn || state.send_turn != 0 {
            return 0;
        }
        let count = match &mut self.links[index].kind {
            LinkKind::Ring(ring) => ring.push_gathering_many(messages),
            LinkKind::Stream(session) => {
                let gathers = |message: &&Outgoing<'_>| match message {
                    Outgoing::Body(body) => body.len() <= SHORT_SIZE_MAX && session.push_gathering(body),
                    _ => false,
                };
                messages.iter().take_while(gathers).count()
            }
        };
        state.sent += count as u64;
        count
    }

    /// Sends one message as the socket's pattern does, if a peer has room.
    pub fn send(&mut self, engine: &Engine, socket: usize, message: &Outgoing<'_>) -> Sent {
        match self.sockets.get(socket) {
            Some(state) if !state.closed => (state.rules.send)(self, engine, socket, message),
            _ => Sent::Closed,
        }
    }

    /// PUSH, DEALER, PAIR: to one peer, or to every peer, as the option says.
    pub fn send_by_distribution(&mut self, engine: &Engine, socket: usize, message: &Outgoing<'_>) -> Sent {
        let state = &mut self.sockets[socket];
        if state.backlog.is_some() {
            return self.send_settled(engine, socket, message);
        }
        match state.options.distribution {
            Distribution::RoundRobin => match self.send_in_turn(engine, socket, &Parcel::plain(message)) {
                Some(_) => self.count_sent(socket),
                None => self.overflow(socket, None),
            },
            Distribution::All => {
                let links = state.links.clone();
                self.send_copies(engine, socket, &links, message)
            }
        }
    }

    /// Sends to the link whose turn it is, of those with room. Returns which that was.
    pub fn send_in_turn(&mut self, engine: &Engine, socket: usize, parcel: &Parcel<'_>) -> Option<usize> {
        loop {
            let state = &mut self.sockets[socket];
            if state.with_room.is_empty() && !self.find_room(socket) {
                return None;
            }
            let state = &mut self.sockets[socket];
            if state.send_turn >= state.with_room.len() {
                state.send_turn = 0;
            }
            let link = state.with_room[state.send_turn];
            if self.send_to_link(engine, link, parcel) {
                let state = &mut self.sockets[socket];
                state.send_turn += 1;
                if state.send_turn >= state.with_room.len() {
                    state.send_turn = 0;
                }
                return Some(link);
            }
        }
    }

    pub fn count_sent(&mut self, socket: usize) -> Sent {
        self.sockets[socket].sent += 1;
        Sent::Done
    }

    /// No stream has room; rings make theirs without an event.
    #[cold]
    pub(in crate::engine) fn find_room(&mut self, socket: usize) -> bool {
        for index in 0..self.sockets[socket].links.len() {
            self.list_room(self.sockets[socket].links[index]);
        }
        let found = !self.sockets[socket].with_room.is_empty();
        if !found {
            // Whoever is to make room in a ring has messages to take: it is likely to be at it.
            self.ring_traffic += RING_TRAFFIC_BUSY;
        }
        found
    }

    /// What becomes of a message for which there is no room: at `link`, if it could have gone to no
    /// other.
    pub fn overflow(&mut self, socket: usize, link: Option<usize>) -> Sent {
        // Who never waits still has to see that peers made room.
        self.work_since_turn.add_io(1);
        let state = &mut self.sockets[socket];
        match state.overflow {
            Overflow::Block | Overflow::Error => return Sent::Full,
            _ if state.links.is_empty() => state.drops.no_peer += 1,
            _ => {
                state.drops.newest += 1;
                if let Some(link) = link {
                    self.links[link].drops.newest += 1;
                }
            }
        }
        self.count_sent(socket)
    }

    /// A copy for each of these links. When the overflow policy is to wait, all have to have room first.
    pub fn send_copies(
        &mut self,
        engine: &Engine,
        socket: usize,
        links: &[usize],
        message: &Outgoing<'_>,
    ) -> Sent {
        if links.is_empty() {
            self.sockets[socket].drops.no_peer += 1;
            return self.count_sent(socket);
        }
        if let Outgoing::Body(body) = message
            && self.gather_copies(links, body)
        {
            return self.count_sent(socket);
        }
        let waits = matches!(self.sockets[socket].overflow, Overflow::Block | Overflow::Error);
        if waits && !links.iter().all(|link| self.has_room(*link)) {
            return self.overflow(socket, None);
        }
        match message {
            _ if links.len() == 1 => self.send_each(engine, socket, links, &Parcel::plain(message)),
            Outgoing::Body(body) if body.len() <= SHORT_BODY_SIZE_MAX => {
                self.send_each(engine, socket, links, &Parcel::plain(message));
            }
            _ => self.send_shared(engine, socket, links, message),
        }
        self.count_sent(socket)
    }

    /// Copies a short body to all of these links if it is as simple as that: each is a stream that gathers already.
    #[inline]
    fn gather_copies(&mut self, links: &[usize], body: &[u8]) -> bool {
        let gathers = |link: &Link| {
            let is_free = link.listed_room && link.held.is_none();
            is_free && matches!(&link.kind, LinkKind::Stream(session) if session.gathers(body.len()))
        };
        let all = body.len() <= SHORT_SIZE_MAX
            && links.iter().all(|link| self.links.get(*link).is_some_and(gathers));
        if all {
            for &link in links {
                self.links[link].kind.push_gathering(body);
            }
        }
        all
    }

    /// A message that is worth some work to be done once for all: encoded for streams, in memory of its
    /// own for rings, and for streams when it is long.
    fn send_shared(&mut self, engine: &Engine, socket: usize, links: &[usize], message: &Outgoing<'_>) {
        let is_long = message.size() >= SHARE_SIZE;
        let in_memory = is_long || links.iter().any(|link| self.links[*link].is_ring());
        let shared = in_memory.then(|| message.to_message());
        let message = shared.as_ref().map_or(*message, Outgoing::Message);
        let mut encoded = std::mem::take(&mut self.encoded);
        encoded.clear();
        if !is_long {
            Session::encode(&message, &mut encoded);
        }
        self.send_each(engine, socket, links, &Parcel { encoded: &encoded, ..Parcel::plain(&message) });
        self.encoded = encoded;
    }

    fn send_each(&mut self, engine: &Engine, socket: usize, links: &[usize], parcel: &Parcel<'_>) {
        for &link in links {
            // Sending may end a link.
            if self.links.get(link).is_some_and(|l| l.socket == socket) {
                self.send_copy(engine, socket, link, parcel);
            }
        }
    }

    pub(super) fn has_room(&mut self, index: usize) -> bool {
        self.list_room(index);
        // Those that gather fill a stream up to its mark and leave it listed.
        if self.links[index].listed_room && self.is_at_mark(index) {
            self.unlist_room_if_full(index);
        }
        let link = &mut self.links[index];
        if let LinkKind::Ring(ring) = &mut link.kind
            && link.listed_room
            && !ring.has_room()
        {
            // A ring's room goes without an event. Listed no more, it is looked at again by whoever is about to
            // sleep.
            self.unlist_room(index);
            return false;
        }
        link.listed_room
    }

    fn send_copy(&mut self, engine: &Engine, socket: usize, index: usize, parcel: &Parcel<'_>) {
        self.list_room(index);
        let link = &mut self.links[index];
        if link.listed_room {
            if let Outgoing::Body(body) = parcel.message
                && link.held.is_none()
                && body.len() <= SHORT_SIZE_MAX
                && link.kind.push_gathering(body)
            {
                return;
            }
            if self.send_to_link(engine, index, parcel) {
                return;
            }
        }
        self.work_since_turn.add_io(1);
        match self.links.get_mut(index) {
            Some(link) => {
                link.drops.newest += 1;
                self.sockets[socket].drops.newest += 1;
            }
            None => self.sockets[socket].drops.peer_lost += 1,
        }
    }

    /// Puts the message on its way. False when the link had no room or failed: it is not listed
    /// with room any more then.
    #[inline]
    pub fn send_to_link(&mut self, engine: &Engine, index: usize, parcel: &Parcel<'_>) -> bool {
        if self.links[index].held.is_some() {
            return self.send_or_hold(engine, index, parcel);
        }
        if self.is_at_mark(index) {
            self.unlist_room_if_full(index);
            if !self.links[index].listed_room {
                return false;
            }
        }
        self.push_to_link(engine, index, parcel)
    }

    /// As [`State::send_to_link`], whatever the marks of a stream say.
    #[inline]
    pub fn push_to_link(&mut self, engine: &Engine, index: usize, parcel: &Parcel<'_>) -> bool {
        let link = &mut self.links[index];
        let slept = std::mem::replace(&mut link.sleep_count_seen, self.sleep_count) != self.sleep_count;
        if let LinkKind::Stream(session) = &mut link.kind {
            self.memory.keep(index, &mut session.connection);
        }
        match &mut link.kind {
            LinkKind::Stream(session) => match session.push(parcel, slept) {
                Ok(gathers) => {
                    let session_failed = session.connection.has_write_failed();
                    self.has_pushed(engine, index, gathers);
                    if session_failed {
                        self.unlist_room(index);
                        self.on_readable(engine, index);
                    } else if self.is_at_mark(index) {
                        self.unlist_room_if_full(index);
                    }
                    true
                }
                Err(error) => {
                    // It was put on its way before that failed: where it is settled, it waits to be sent again by now.
                    let is_kept = session.is_settled();
                    self.end_link(engine, index, &error);
                    is_kept
                }
            },
            LinkKind::Ring(ring) => {
                if !ring.has_room() || !ring.push_parcel(parcel, self.pause_count) {
                    self.unlist_room(index);
                    return false;
                }
                let gathers = ring.is_gathering();
                if !gathers {
                    // The answer is likely to come before a sleep would be over.
                    self.ring_traffic += RING_TRAFFIC_BUSY;
                }
                self.has_pushed(engine, index, gathers);
                true
            }
        }
    }

    /// Something was put on the link's way; `gathers`: a later write takes it.
    #[inline]
    pub fn has_pushed(&mut self, engine: &Engine, index: usize, gathers: bool) {
        if !gathers {
            self.work_since_turn.add_io(1);
            self.links[index].wrote = true;
        } else if !self.links[index].listed_dirty {
            self.list_dirty(engine, index);
        } else {
            self.arm_flush(engine);
        }
    }
}
