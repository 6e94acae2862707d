//! What the poller reports: connections to accept, handshakes to continue, links to read and write;
//! and how links come and go.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hairstreak_base::Bytes;
use hairstreak_transport::{Endpoint, Interest, Readiness, Stream};
use hairstreak_wire::settlement::SettlementTerms;
use hairstreak_wire::zmtp::{LocalPeer, RemotePeer, SharedTerms};

use super::link::{Link, LinkKind, Origin};
use super::state::{ConnectorState, State, Token, Unread};
use super::timers::Due;
use super::wait::Engine;
use crate::ages::Ages;
use crate::monitor::EventKind;
use crate::options::{Options, Overflow};
use crate::pattern::Incoming;
use crate::security::Security;
use crate::session::{Phase, Session, SessionError, SessionLimits, SessionShares, SharedWish};
use crate::settlement::Settlement;

/// Connections accepted from one listener in one turn.
const ACCEPT_MAX: usize = 64;
/// How long a peer that was refused may take to read why.
const REFUSAL_TIME: Duration = Duration::from_secs(1);
/// How long a listener rests when descriptors are short.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

impl State {
    /// Handles the poller's events and what is due by the clock; `self.now` is fresh.
    pub fn handle_events<'a>(&mut self, engine: &Arc<Engine>, events: impl Iterator<Item = &'a Readiness>) {
        self.handles_events = true;
        for event in events {
            match Token::decode(event.token) {
                Token::Listener { index } => self.accept(engine, index),
                Token::Link { index, serial } => {
                    if self.links.get(index).is_some_and(|link| link.serial == serial) {
                        self.on_link(engine, index, event);
                    }
                }
            }
        }
        self.handles_events = false;
        if !self.rings.is_empty() {
            self.look_at_rings(engine);
        }
        self.run_timers(engine);
        self.memory.rest_if_many(&mut self.links);
    }

    fn on_link(&mut self, engine: &Engine, index: usize, event: &Readiness) {
        let LinkKind::Stream(session) = &mut self.links[index].kind else { return };
        session.connection.on_event(event);
        match session.phase {
            Phase::Connecting | Phase::Handshaking => self.go_on_with_handshake(engine, index),
            Phase::Draining => {
                let over = session.drain();
                if over {
                    self.end_link(engine, index, &SessionError::Left);
                } else {
                    self.time_draining(index);
                }
            }
            Phase::Ready => {
                if session.connection.is_writable() && !session.connection.output.is_empty() {
                    self.flush_link(engine, index);
                }
                if self.links.contains(index) {
                    self.on_readable(engine, index);
                }
            }
        }
    }

    /// A ready link may have bytes: whoever receives is told, or they are read ahead.
    pub fn on_readable(&mut self, engine: &Engine, index: usize) {
        let link = &mut self.links[index];
        let LinkKind::Stream(session) = &mut link.kind else { return };
        if !session.connection.is_readable() {
            return;
        }
        let socket = link.socket;
        if let Incoming::AtOnce(_) = self.sockets[socket].rules.incoming {
            return self.take_in(engine, index);
        }
        if let Incoming::Messages = self.sockets[socket].rules.incoming {
            let state = &self.sockets[socket];
            let (called, awaited) = (state.receivers > 0, self.is_received_from(socket));
            self.list_messages(index);
            self.notify_of_messages(socket);
            if awaited {
                // The task may be busy elsewhere, or gone: no edge will tell of what it leaves.
                self.arm_look(engine);
            }
            if called || awaited {
                return;
            }
        }
        let link = &mut self.links[index];
        let LinkKind::Stream(session) = &mut link.kind else { return };
        let result = session.read_ahead(link.received);
        let is_settled = session.is_settled();
        let unfinished = session.connection.is_readable() && session.has_room_ahead();
        let waits = session.waits_for_room();
        if session.has_ahead() {
            self.note_waiting(index, Instant::now());
        }
        if self.links[index].is_dry() {
            self.unlist_messages(index);
        } else if waits {
            self.timers.look_for_room(socket, self.now);
        } else if unfinished {
            if let Incoming::Nothing = self.sockets[socket].rules.incoming {
                self.come_back_to(Unread::Link(index));
            }
            self.arm_look(engine);
        }
        let LinkKind::Stream(session) = &mut self.links[index].kind else { return };
        match result {
            Ok(()) if session.connection.output.is_empty() || session.connection.has_write_failed() => {}
            Ok(()) => self.flush_link(engine, index),
            Err(error @ SessionError::Settlement(_)) => self.refuse_link(engine, index, &error),
            Err(error) => self.end_link(engine, index, &error),
        }
        if is_settled {
            self.on_settled(engine, index);
        } else {
            self.hear_done(engine, index);
        }
    }

    fn accept(&mut self, engine: &Engine, listener: usize) {
        for _ in 0..ACCEPT_MAX {
            let Some(bound) = self.listeners.get_mut(listener) else { return };
            match bound.listener.accept() {
                Ok(Some(stream)) => {
                    let (socket, endpoint) = (bound.socket, bound.listener.endpoint());
                    let state = &mut self.sockets[socket];
                    let endpoint = endpoint.clone();
                    if !state.options.address_rules.permit_stream(&endpoint, &stream) {
                        state.denied_connections += 1;
                        self.tell(socket, Some(&endpoint), || EventKind::Denied);
                        continue;
                    }
                    self.add_stream(engine, socket, Origin::Listener, endpoint, stream);
                }
                Ok(None) => return,
                Err(error) => {
                    // Out of descriptors or memory: a level-triggered listener would spin.
                    bound.is_paused = true;
                    engine.poller().remove(&bound.listener);
                    let (socket, endpoint) = (bound.socket, bound.listener.endpoint().clone());
                    self.tell(socket, Some(&endpoint), || EventKind::AcceptFailed {
                        reason: error.to_string(),
                    });
                    self.timers.set(Due::Listener(listener), self.now + ACCEPT_PAUSE);
                    return;
                }
            }
        }
    }

    /// Listens, or tries again a little later where descriptors are short.
    pub fn resume_listener(&mut self, engine: &Engine, index: usize) {
        let Some(bound) = self.listeners.get_mut(index).filter(|bound| bound.is_paused) else { return };
        let token = Token::Listener { index }.encode();
        bound.is_paused = engine.poller().add(&bound.listener, token, Interest::Readable).is_err();
        if bound.is_paused {
            self.timers.set(Due::Listener(index), self.now + ACCEPT_PAUSE);
        }
    }

    /// A new connection, or one on its way. Returns whether the socket took it.
    pub fn add_stream(
        &mut self,
        engine: &Engine,
        socket: usize,
        origin: Origin,
        endpoint: Endpoint,
        stream: Stream,
    ) -> bool {
        let connected = stream.is_established();
        let state = &mut self.sockets[socket];
        let options = Arc::clone(&state.options);
        if state.connection_count >= options.connections_max || !(state.rules.accepts)(self, socket) {
            self.sockets[socket].refused_connections += 1;
            self.tell(socket, Some(&endpoint), || EventKind::Refused);
            return false;
        }
        let is_plain = self.sockets[socket].rules.is_plain;
        let shared_wish = if is_plain { None } else { shared_wish(&endpoint, &options) };
        let state = &mut self.sockets[socket];
        let local = LocalPeer {
            socket_type: state.socket_type,
            routing_id: options.routing_id.clone().unwrap_or_default(),
            properties: properties(shared_wish, &options, state.passed_on_by.is_some()),
        };
        let limits = SessionLimits {
            message_size_max: options.message_size_max,
            frame_count_max: options.frame_count_max,
            send_count_max: options.send_count_max.max(1),
            send_bytes_max: options.send_bytes_max.max(1),
            receive_count_max: options.receive_count_max.max(1),
            receive_bytes_max: options.receive_bytes_max.max(1),
            receives: !matches!(state.rules.incoming, Incoming::Nothing),
            is_plain,
            subscriptions: matches!(state.rules.incoming, Incoming::AtOnce(_)),
        };
        let deadline = self.now + options.handshake_timeout();
        // Within the process there is nobody to be secured from.
        let is_inproc = matches!(endpoint, Endpoint::Inproc(_));
        let security = if is_inproc { &Security::Null } else { &options.security };
        let handshake = (!is_plain).then(|| security.handshake(local, self.now)).transpose();
        let Ok(handshake) = handshake else { return false };
        let index = self.links.vacant_key();
        let arriving = Arc::clone(&state.arriving);
        let shares = SessionShares { arriving, pool: Arc::clone(&self.memory.pool), link: index };
        let mut session = Session::new(stream, handshake, limits, shares, deadline, self.now);
        if let Some(wish) = shared_wish {
            session.set_shared_wish(wish);
        }
        let place = self.new_place(socket, origin, endpoint);
        let token = Token::Link { index, serial: place.serial }.encode();
        if session.connection.watch(engine.poller(), token).is_err() {
            self.sockets[socket].connection_count -= 1;
            return false;
        }
        self.links.insert(Link::new(place, LinkKind::Stream(Box::new(session))));
        self.timers.set(Due::Link(index), deadline);
        self.tell_of_link(index, || match origin {
            _ if !connected => EventKind::Connecting,
            Origin::Listener => EventKind::Accepted,
            _ => EventKind::Connected,
        });
        if connected {
            self.go_on_with_handshake(engine, index);
        }
        true
    }

    fn go_on_with_handshake(&mut self, engine: &Engine, index: usize) {
        let LinkKind::Stream(session) = &mut self.links[index].kind else { return };
        let was_connecting = session.phase == Phase::Connecting;
        let advance = session.advance_handshake();
        if was_connecting && session.phase != Phase::Connecting {
            self.tell_of_link(index, || EventKind::Connected);
        }
        self.follow_handshake(engine, index, advance);
    }

    /// The link takes part in its socket's routing from now on, unless it is not wanted, or its peer has gone already:
    /// then it is gone, and false is returned.
    pub fn link_is_ready(&mut self, engine: &Engine, index: usize, peer: RemotePeer) -> bool {
        let link = &mut self.links[index];
        let socket = link.socket;
        link.routing_id = Bytes::copy_of(&peer.routing_id);
        let rules = self.sockets[socket].rules;
        if !(rules.accepts)(self, socket) || !(rules.link_ready)(self, engine, index, &peer) {
            self.sockets[socket].refused_connections += 1;
            self.end_link(engine, index, &SessionError::Unwanted);
            return false;
        }
        let (link, state) = (&mut self.links[index], &mut self.sockets[socket]);
        link.held = (state.overflow == Overflow::DropOldest && state.rules.sends).then(Box::default);
        let heartbeat = Duration::from_millis(state.options.heartbeat_ms.max(1));
        if let Err(error) = self.agree_on_settlement(index, &peer) {
            self.refuse_link(engine, index, &SessionError::Settlement(error));
            return false;
        }
        let (link, state) = (&mut self.links[index], &mut self.sockets[socket]);
        (link.peer, link.since) = (Some(peer), self.now);
        if !link.only_reports {
            state.links.push(index);
        }
        if let LinkKind::Ring(_) = link.kind {
            state.rings.push(index);
        }
        let is_shared =
            matches!(&link.kind, LinkKind::Stream(session) if session.connection.stream().is_shared());
        self.timers.set(Due::Link(index), self.now + heartbeat);
        self.tell_of_link(index, || EventKind::HandshakeSucceeded);
        if is_shared {
            self.tell_of_link(index, || EventKind::SharedMemory);
        }
        self.list_room(index);
        self.begin_settling(engine, index);
        self.notify(socket);
        // A peer that is gone by now did not take what it was told first.
        self.links.contains(index)
    }

    /// The connection is over. Its connector tries again. Messages received whole and not yet taken
    /// keep the link, without its connection, until they are.
    pub fn end_link(&mut self, engine: &Engine, index: usize, error: &SessionError) {
        self.tell_of_end(index, error);
        let link = &mut self.links[index];
        let (socket, origin) = (link.socket, std::mem::replace(&mut link.origin, Origin::Ended));
        // Who was refused, by either side, is not to come back at once, again and again.
        let was_success = link.peer.is_some() && !matches!(error, SessionError::PeerError(_));
        let state = &mut self.sockets[socket];
        if !error.is_farewell() && !link.is_refused {
            state.failed_connections += 1;
        }
        self.unlist_room(index);
        let (link, state) = (&mut self.links[index], &mut self.sockets[socket]);
        link.ages.out = Ages::default();
        let (sent, received) = link.kind.byte_counts();
        (state.sent_bytes, state.received_bytes) = (state.sent_bytes + sent, state.received_bytes + received);
        let mut lost = link.held.take().map_or(0, |held| held.count());
        let settled = self.recover_unsettled(engine, index);
        let heard_done = self.take_heard_done(index);
        self.note_last_end(index);
        let (link, state) = (&mut self.links[index], &mut self.sockets[socket]);
        let (left, stays);
        match &mut link.kind {
            LinkKind::Stream(session) => {
                session.connection.unwatch(engine.poller());
                lost += settled.unwrap_or(session.connection.output.queued_count());
                if error.leaves_unread() {
                    session.take_rest();
                }
                stays = session.end() && !state.closed;
                left = session.unreceived_count();
            }
            LinkKind::Ring(ring) => {
                // A peer that lives takes what it was sent to the end, and counts as lost what it sends from here on.
                let is_gone = ring.is_gone();
                lost += if is_gone { ring.queued().0 } else { 0 };
                let is_received = matches!(state.rules.incoming, Incoming::Messages);
                let is_left = matches!(error, SessionError::Left) && !is_gone;
                left = if is_received { ring.end() } else { 0 };
                stays = left > 0 && !is_left && !state.closed;
                link.subscriptions.clear();
            }
        }
        (self.sockets[socket].rules.link_ended)(self, index, !stays);
        let (link, state) = (&mut self.links[index], &mut self.sockets[socket]);
        state.drops.peer_lost += lost as u64;
        state.drops.unreceived += if stays { 0 } else { left as u64 };
        state.received += std::mem::take(&mut link.received);
        state.leave(link, index);
        if stays {
            self.list_messages(index);
        } else {
            state.connection_count -= 1;
            state.rings.retain(|&other| other != index);
            if link.is_ring() {
                self.rings.retain(|&other| other != index);
            }
            super::routing::remove_turn(&mut state.with_messages, &mut state.receive_turn, index);
            self.links.remove(index);
            self.timers.cancel(Due::Link(index));
        }
        if was_success {
            self.forget_attempts(origin);
        }
        self.reconnect(origin, socket);
        if settled.is_some() && !self.sockets[socket].closed {
            self.send_waiting_again(engine, socket);
            self.end_sending_where_over(engine, socket);
        }
        // The last that the peer said may have come with the end.
        self.pass_on_done(engine, socket, &heard_done);
        self.notify(socket);
        self.forget_if_over(engine, socket);
    }

    /// Ends a ready link for what its peer did, and tells it why as far as it listens.
    pub fn refuse_link(&mut self, engine: &Engine, index: usize, error: &SessionError) {
        if self.links[index].is_ring() {
            return self.end_link(engine, index, error);
        }
        self.tell_of_end(index, error);
        let lost = self.recover_unsettled(engine, index).unwrap_or(0);
        let link = &mut self.links[index];
        let socket = link.socket;
        self.sockets[socket].drops.peer_lost += lost as u64;
        let LinkKind::Stream(session) = &mut link.kind else { return };
        session.push_error(&error.to_string());
        session.start_draining(self.now + REFUSAL_TIME);
        let over = session.drain();
        (link.peer, link.is_refused) = (None, true);
        (self.sockets[socket].rules.link_ended)(self, index, true);
        self.unlist_room(index);
        self.unlist_messages(index);
        let (link, state) = (&mut self.links[index], &mut self.sockets[socket]);
        state.failed_connections += 1;
        state.leave(link, index);
        let is_open = !state.closed;
        if over {
            self.end_link(engine, index, &SessionError::Left);
        } else {
            self.time_draining(index);
        }
        if is_open {
            self.send_waiting_again(engine, socket);
            self.end_sending_where_over(engine, socket);
        }
        self.notify(socket);
    }

    /// The next attempt to connect is the first since a success.
    fn forget_attempts(&mut self, origin: Origin) {
        if let Origin::Connector(index) = origin
            && let Some(connector) = self.connectors.get_mut(index)
        {
            connector.attempt = 0;
        }
    }

    pub fn reconnect(&mut self, origin: Origin, socket: usize) {
        let Origin::Connector(index) = origin else { return };
        let delay_of = |attempt| self.sockets[socket].options.reconnect_delay(attempt);
        let Some(connector) = self.connectors.get_mut(index) else { return };
        if connector.socket != socket || connector.state != ConnectorState::Linked {
            return;
        }
        let wait = delay_of(connector.attempt);
        let at = Instant::now() + wait;
        connector.attempt += 1;
        let attempt = connector.attempt;
        connector.state = ConnectorState::Waiting;
        self.timers.set(Due::Connector(index), at);
        self.tell_of_connector(index, || EventKind::Retrying { wait, attempt });
    }
}

/// Whether connections of this endpoint may go on in shared memory.
fn shared_wish(endpoint: &Endpoint, options: &Options) -> Option<SharedWish> {
    let insists = matches!(endpoint, Endpoint::Shm(_));
    let is_local = matches!(endpoint, Endpoint::Ipc(_) | Endpoint::Inproc(_));
    let may = insists || (is_local && options.shared_memory);
    let ring_size = u32::try_from(options.shared_ring_bytes).unwrap_or(u32::MAX);
    may.then(|| SharedWish { terms: SharedTerms { ring_size, number: fastrand::u64(..) }, insists })
}

/// What is said in READY beside type and routing id. What the library says of itself stands first.
fn properties(shared_wish: Option<SharedWish>, options: &Options, passes_on: bool) -> Vec<(String, Vec<u8>)> {
    let terms = |wanted: &Settlement| SettlementTerms {
        credit: wanted.credit_count as u64,
        collects: wanted.collects,
        passes_on,
        ahead: wanted.ahead_count as u64,
    };
    let settlement = options.settlement.as_ref().map(terms);
    let shared = shared_wish.map(|wish| wish.terms.to_property());
    let own = options.properties.iter().cloned();
    shared.into_iter().chain(settlement.map(SettlementTerms::to_property)).chain(own).collect()
}
