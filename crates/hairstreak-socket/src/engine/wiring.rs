//! Opening, binding, connecting and closing: what changes an engine's tables from outside.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hairstreak_transport::vortex::VortexError;
use hairstreak_transport::{
    Endpoint, IpcAddress, Listener, ResolveError, Stream, resolve_bind, resolve_connect,
};
use hairstreak_wire::zmtp::SocketType;

use super::link::{LinkKind, Origin};
use super::state::{After, BoundListener, Connector, ConnectorState, SocketState, State};
use super::wait::Engine;
use crate::background::Background;
use crate::errors::{BindError, ConnectError};
use crate::monitor::EventKind;
use crate::options::Options;
use crate::session::{Phase, SessionError};

impl Engine {
    pub fn open(self: &Arc<Self>, socket_type: SocketType, options: Options) -> usize {
        let mut state = self.lock();
        let serial = state.new_serial();
        state.yield_time = state.yield_time.max(Duration::from_micros(options.yield_us));
        state.gather_time = state.gather_time.min(Duration::from_micros(options.gather_us));
        let socket = SocketState::new(serial, socket_type, options);
        let settles = socket.senders.is_some();
        let index = state.sockets.insert(socket);
        if settles {
            state.settling_sockets.push(index);
        }
        index
    }

    /// Binds, and tells how it went.
    pub fn bind(self: &Arc<Self>, socket: usize, endpoint: &Endpoint) -> Result<Endpoint, BindError> {
        let result = self.listen(socket, endpoint);
        let mut state = self.lock();
        match &result {
            Ok(bound) => state.tell(socket, Some(bound), || EventKind::Listening),
            Err(error) => {
                let kind = || EventKind::BindFailed { reason: error.to_string() };
                state.tell(socket, Some(endpoint), kind);
            }
        }
        result
    }

    fn listen(self: &Arc<Self>, socket: usize, endpoint: &Endpoint) -> Result<Endpoint, BindError> {
        let text = endpoint.to_string();
        if self.lock().needs_zmtp(socket, endpoint) {
            return Err(BindError::NeedsZmtp(text));
        }
        let bound = match endpoint {
            Endpoint::Tcp(address) => {
                let resolved = resolve_bind(address)
                    .map_err(|source| BindError::Resolve { endpoint: text.clone(), source })?;
                Listener::bind_tcp(resolved, address.host == "*")
            }
            Endpoint::Ipc(address) => Listener::bind_ipc(address),
            Endpoint::Shm(address) => Listener::bind_shm(address),
            Endpoint::Vortex(address) => Listener::bind_vortex(address),
            Endpoint::Inproc(name) => return crate::inproc::bind(self, socket, name),
        };
        let listener = bound.map_err(|source| match source.kind() {
            std::io::ErrorKind::AddrInUse => BindError::InUse(text.clone()),
            _ => BindError::System { endpoint: text.clone(), source },
        })?;
        let endpoint = listener.endpoint().clone();
        let mut state = self.lock();
        if state.sockets.get(socket).is_none_or(|socket| socket.closed) {
            return Err(BindError::Closed);
        }
        let index = state.listeners.insert(BoundListener { socket, listener, is_paused: true });
        state.resume_listener(self, index);
        state.look_after(self);
        Ok(endpoint)
    }

    /// Stops listening; connections stay. Returns whether it was bound.
    pub fn unbind(self: &Arc<Self>, socket: usize, endpoint: &Endpoint) -> bool {
        if let Endpoint::Inproc(name) = endpoint {
            let was_bound = crate::inproc::unbind(self, socket, name);
            if was_bound {
                self.lock().tell(socket, Some(endpoint), || EventKind::Unbound);
            }
            return was_bound;
        }
        let mut state = self.lock();
        let found = state
            .listeners
            .iter()
            .find(|(_, bound)| bound.socket == socket && bound.listener.endpoint() == endpoint);
        let Some((index, _)) = found else { return false };
        let bound = state.listeners.remove(index);
        self.poller().remove(&bound.listener);
        state.tell(socket, Some(endpoint), || EventKind::Unbound);
        true
    }

    pub fn connect(self: &Arc<Self>, socket: usize, endpoint: Endpoint) -> Result<(), ConnectError> {
        match &endpoint {
            Endpoint::Tcp(address) => _ = resolve_connect(address, 0, false)?,
            Endpoint::Ipc(IpcAddress::Any) | Endpoint::Shm(IpcAddress::Any) => {
                return Err(ResolveError::AnyPath(endpoint.to_string()).into());
            }
            Endpoint::Vortex(address) if !address.is_complete() => {
                return Err(VortexError::Wildcard(address.clone()).into());
            }
            _ => {}
        }
        let mut state = self.lock();
        if state.sockets.get(socket).is_none_or(|socket| socket.closed) {
            return Err(ConnectError::Closed);
        }
        if state.needs_zmtp(socket, &endpoint) {
            return Err(ConnectError::NeedsZmtp(endpoint.to_string()));
        }
        state.now = Instant::now();
        let serial = state.new_serial();
        let index = state.connectors.insert(Connector {
            serial,
            socket,
            endpoint,
            attempt: 0,
            state: ConnectorState::Waiting,
            trouble: None,
        });
        state.start_connector(self, index);
        state.look_after(self);
        Ok(())
    }

    /// Gives up the endpoint and its connection, after what was accepted for it is written.
    pub fn disconnect(self: &Arc<Self>, socket: usize, endpoint: &Endpoint) -> bool {
        let mut state = self.lock();
        let found = state.connectors.iter().find(|(_, c)| c.socket == socket && c.endpoint == *endpoint);
        let Some((index, _)) = found else { return false };
        state.connectors.remove(index);
        let links = state.links_where(|link| matches!(link.origin, Origin::Connector(c) if c == index));
        for link in links {
            state.close_link(self, link);
        }
        state.look_after(self);
        true
    }

    /// A host's name has to be looked up, which may take seconds: on a thread of its own.
    pub(super) fn resolve(self: &Arc<Self>, connector: usize, serial: u32) {
        let asked = self.lock().connector(connector, serial).map(|c| (c.endpoint.clone(), c.attempt));
        let Some((Endpoint::Tcp(address), attempt)) = asked else { return };
        let engine = Arc::clone(self);
        let look_up = move || {
            let (found, trouble) = match resolve_connect(&address, attempt, true) {
                Ok(found) => (found, None),
                Err(error) => (None, Some(error)),
            };
            let mut state = engine.lock();
            state.now = Instant::now();
            if let Some(socket) = state.connector(connector, serial).map(|connector| connector.socket) {
                state.connectors[connector].trouble = trouble;
                let stream = match (found, &state.connectors[connector].trouble) {
                    (Some(address), _) => Stream::connect_tcp(address),
                    (None, Some(trouble)) => Err(std::io::Error::other(trouble.clone())),
                    (None, None) => Err(std::io::ErrorKind::NotFound.into()),
                };
                state.connector_has_stream(&engine, connector, stream);
                state.notify(socket);
                state.look_after(&engine);
            }
        };
        let spawned = std::thread::Builder::new().name("hairstreak-dns".into()).spawn(look_up);
        if spawned.is_err() {
            let mut state = self.lock();
            let error = Err(std::io::ErrorKind::OutOfMemory.into());
            state.connector_has_stream(self, connector, error);
        }
    }

    /// Closes the socket: no more calls, no more connections; what was accepted is still sent.
    pub fn close(self: &Arc<Self>, socket: usize) {
        match self.lock().sockets.get_mut(socket) {
            Some(closing) => closing.closing = true,
            None => return,
        }
        let unbound = crate::inproc::unbind_all(self, socket);
        let mut state = self.lock();
        let Some(closing) = state.sockets.get_mut(socket) else { return };
        if std::mem::replace(&mut closing.closed, true) {
            return;
        }
        let given_up = closing.backlog.as_mut().map_or(0, |backlog| backlog.redelivery.give_up_waiting());
        closing.drops.peer_lost += given_up as u64;
        closing.drops.unreceived += closing.notices.give_up() as u64;
        let waker = closing.backlog.as_mut().and_then(|backlog| backlog.refusal_waker.take());
        state.after.extend(waker.map(After::Forget));
        state.now = Instant::now();
        for name in &unbound {
            state.tell(socket, Some(name), || EventKind::Unbound);
        }
        let listeners = state.listeners.iter().filter(|(_, bound)| bound.socket == socket);
        for index in listeners.map(|(index, _)| index).collect::<Vec<_>>() {
            let bound = state.listeners.remove(index);
            self.poller().remove(&bound.listener);
            state.tell(socket, Some(bound.listener.endpoint()), || EventKind::Unbound);
        }
        state.tell(socket, None, || EventKind::Closed);
        state.connectors.retain(|_, connector| connector.socket != socket);
        for link in state.links_where(|link| link.socket == socket) {
            state.close_link(self, link);
        }
        state.notify(socket);
        state.forget_if_over(self, socket);
        if state.is_lingering() {
            Background::running().linger(self);
        }
        state.look_after(self);
    }

    /// The last handle of the socket is gone.
    pub fn abandon(self: &Arc<Self>, socket: usize) {
        self.close(socket);
        let mut state = self.lock();
        if let Some(socket) = state.sockets.get_mut(socket) {
            socket.abandoned = true;
        }
        state.forget_if_over(self, socket);
    }
}

impl State {
    fn connector(&self, index: usize, serial: u32) -> Option<&Connector> {
        self.connectors.get(index).filter(|connector| connector.serial == serial)
    }

    /// Whether the endpoint is of a kind that this socket, speaking no ZMTP, cannot use.
    fn needs_zmtp(&self, socket: usize, endpoint: &Endpoint) -> bool {
        matches!(endpoint, Endpoint::Inproc(_) | Endpoint::Shm(_))
            && self.sockets.get(socket).is_some_and(|socket| socket.rules.is_plain)
    }

    /// Whether the socket is open and its pattern takes another peer; counted if not.
    pub fn wants_another(&mut self, socket: usize) -> bool {
        let Some(state) = self.sockets.get(socket).filter(|socket| !socket.closed) else { return false };
        let accepts = (state.rules.accepts)(self, socket);
        if !accepts {
            self.sockets[socket].refused_connections += 1;
            self.tell(socket, None, || EventKind::Refused);
        }
        accepts
    }

    /// The socket of the inproc name does not want this connector's: it asks again later.
    pub fn join_again(&mut self, connector: usize, serial: u32) {
        let Some(found) = self.connectors.get_mut(connector).filter(|found| found.serial == serial) else {
            return;
        };
        found.state = ConnectorState::Linked;
        let socket = found.socket;
        self.reconnect(Origin::Connector(connector), socket);
    }

    fn links_where(&self, wanted: impl Fn(&super::link::Link) -> bool) -> Vec<usize> {
        self.links.iter().filter(|(_, link)| wanted(link)).map(|(index, _)| index).collect()
    }

    /// Something is under way that the caller will not wait for: whoever drives the engine hears of it.
    pub fn look_after(&mut self, engine: &Arc<Engine>) {
        if self.leader {
            engine.poller().wake();
        } else {
            self.watch(engine);
        }
    }

    /// The connector's next attempt, if it waits for that.
    pub fn start_connector(&mut self, engine: &Engine, index: usize) {
        let is_waiting = |connector: &&mut Connector| connector.state == ConnectorState::Waiting;
        let Some(connector) = self.connectors.get_mut(index).filter(is_waiting) else { return };
        let serial = connector.serial;
        let stream = match &connector.endpoint {
            Endpoint::Inproc(_) => {
                connector.state = ConnectorState::Asked;
                self.after.push(After::ConnectInproc(index, serial));
                return self.tell_of_connector(index, || EventKind::Connecting);
            }
            Endpoint::Ipc(address) | Endpoint::Shm(address) => Stream::connect_ipc(address),
            Endpoint::Vortex(address) => Stream::connect_vortex(address),
            Endpoint::Tcp(address) => match resolve_connect(address, 0, false) {
                Ok(Some(address)) => Stream::connect_tcp(address),
                _ => {
                    connector.state = ConnectorState::Asked;
                    self.after.push(After::Resolve(index, serial));
                    return self.tell_of_connector(index, || EventKind::Connecting);
                }
            },
        };
        self.connector_has_stream(engine, index, stream);
    }

    fn connector_has_stream(&mut self, engine: &Engine, index: usize, stream: std::io::Result<Stream>) {
        let connector = &mut self.connectors[index];
        let socket = connector.socket;
        connector.state = ConnectorState::Linked;
        let (origin, endpoint) = (Origin::Connector(index), connector.endpoint.clone());
        let taken = match stream {
            Ok(stream) => self.add_stream(engine, socket, origin, endpoint, stream),
            Err(error) => {
                let kind = || EventKind::ConnectFailed { reason: error.to_string() };
                self.tell(socket, Some(&endpoint), kind);
                false
            }
        };
        if !taken {
            self.reconnect(Origin::Connector(index), socket);
        }
    }

    /// Ends a link from this side, with the connected endpoint that it came by.
    pub fn give_up_link(&mut self, engine: &Engine, index: usize) {
        self.forget_name(index, false);
        if let Origin::Connector(connector) = self.links[index].origin {
            self.connectors.try_remove(connector);
        }
        self.now = Instant::now();
        self.close_link(engine, index);
        // Somebody has to see it drain, or its time be over.
        self.arm_look(engine);
    }

    /// Ends a link from this side: at once when nothing is left to be sent, else by draining.
    fn close_link(&mut self, engine: &Engine, index: usize) {
        self.let_go_of_held(engine, index);
        if !self.links.contains(index) {
            return;
        }
        self.unlist_room(index);
        self.unlist_messages(index);
        let link = &mut self.links[index];
        let options = &self.sockets[link.socket].options;
        let deadline = self.now + Duration::from_millis(options.linger_ms);
        let over = match &mut link.kind {
            LinkKind::Stream(session) if session.phase == Phase::Ready => {
                self.sockets[link.socket].drops.unreceived += session.start_draining(deadline) as u64;
                session.drain()
            }
            // It drains since its endpoint was disconnected, and goes on until its own deadline.
            LinkKind::Stream(session) if session.phase == Phase::Draining => session.drain(),
            _ => true,
        };
        if over {
            self.end_link(engine, index, &SessionError::Left);
        } else {
            let socket = link.socket;
            link.origin = Origin::Ended;
            self.sockets[socket].leave(link, index);
            (self.sockets[socket].rules.link_ended)(self, index, true);
            self.time_draining(index);
            self.notify(socket);
        }
    }

    /// Ends the monitors of a closed socket when its last link is gone, and removes it when its last handle is too.
    pub fn forget_if_over(&mut self, _engine: &Engine, socket: usize) {
        let Some(state) = self.sockets.get(socket).filter(|s| s.closed && s.connection_count == 0) else {
            return;
        };
        let is_abandoned = state.abandoned;
        self.end_monitors(socket);
        if is_abandoned {
            self.settling_sockets.retain(|&other| other != socket);
            self.sockets.remove(socket);
        }
    }

    /// When the last of the links that drain gives up.
    pub fn linger_deadline(&self) -> Option<Instant> {
        let deadlines = self.links.iter().filter_map(|(_, link)| match &link.kind {
            LinkKind::Stream(session) if session.phase == Phase::Draining => {
                Some(session.connection.deadline)
            }
            _ => None,
        });
        deadlines.max()
    }

    /// Whether closed sockets still have something to send.
    pub fn is_lingering(&self) -> bool {
        self.sockets.iter().any(|(_, socket)| socket.closed && socket.connection_count > 0)
    }
}
