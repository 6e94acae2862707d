//! `ProxySocket`: one of a proxy's sockets, whatever its pattern.

use std::fmt;
use std::sync::Arc;

use hairstreak_base::Message;
use hairstreak_wire::zmtp::SocketType;

use crate::engine::{Engine, Guard, Received, Sent, State};
use crate::outgoing::Outgoing;
use crate::pattern::Pattern;
use crate::socket::{Handle, Socket};

/// One of the sockets of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyEnd {
    /// The first one.
    Frontend,
    /// The second one.
    Backend,
    /// Gets a copy of everything.
    Capture,
    /// Brings words to steer by.
    Control,
}

impl ProxyEnd {
    pub(super) const ALL: [ProxyEnd; 4] =
        [ProxyEnd::Frontend, ProxyEnd::Backend, ProxyEnd::Capture, ProxyEnd::Control];

    /// Its key in the proxy's poller, and its place in tables.
    pub(super) fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for ProxyEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProxyEnd::Frontend => "frontend",
            ProxyEnd::Backend => "backend",
            ProxyEnd::Capture => "capture",
            ProxyEnd::Control => "control",
        })
    }
}

/// A handle of a socket, whatever its pattern.
#[derive(Clone)]
pub struct ProxySocket {
    pub(super) handle: Arc<Handle>,
    pub(super) socket_type: SocketType,
}

impl fmt::Debug for ProxySocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProxySocket({})", self.socket_type.as_str())
    }
}

impl<P: Pattern> From<&Socket<P>> for ProxySocket {
    fn from(socket: &Socket<P>) -> ProxySocket {
        ProxySocket { handle: Arc::clone(&socket.handle), socket_type: P::SOCKET_TYPE }
    }
}

impl ProxySocket {
    pub(super) fn receives(&self) -> bool {
        !matches!(self.socket_type, SocketType::Push | SocketType::Pub)
    }

    pub(super) fn sends(&self) -> bool {
        !matches!(self.socket_type, SocketType::Pull | SocketType::Sub)
    }

    /// Whether it sends and receives in turn only.
    pub(super) fn is_lockstep(&self) -> bool {
        matches!(self.socket_type, SocketType::Req | SocketType::Rep)
    }

    /// Whether each message names the only peer that it may go to.
    pub(super) fn addresses(&self) -> bool {
        matches!(self.socket_type, SocketType::Router | SocketType::Stream)
    }

    pub(super) fn engine(&self) -> &Arc<Engine> {
        &self.handle.engine
    }

    pub(super) fn lock(&self) -> Guard<'_> {
        self.handle.engine.lock()
    }

    /// Whether a send would be accepted, dropped or refused now. `state`: of its engine, here and below.
    pub(super) fn has_room(&self, state: &mut State) -> bool {
        state.is_writable(self.handle.index)
    }

    /// The next message, if one is here. `None`: the socket is closed.
    pub(super) fn receive(&self, state: &mut State, into: &mut Message) -> Option<bool> {
        let handle = &*self.handle;
        if state.receive_ready(handle.index, into) {
            return Some(true);
        }
        let found = state.receive(&handle.engine, handle.index, into) == Received::Message;
        let open = state.sockets.get(handle.index).is_some_and(|socket| !socket.closed);
        (found || open).then_some(found)
    }

    /// Sends if there is room now.
    pub(super) fn send(&self, state: &mut State, message: &Message) -> Sent {
        let handle = &*self.handle;
        let outgoing = Outgoing::Message(message);
        if state.send_short(handle.index, &outgoing) {
            return Sent::Done;
        }
        let Some(socket) = state.sockets.get(handle.index) else { return Sent::Closed };
        let options = &socket.options;
        if message.size() > options.message_size_max || message.frame_count() > options.frame_count_max {
            // Over the limits of this socket: no peer will ever get it.
            return Sent::Unroutable;
        }
        state.send(&handle.engine, handle.index, &outgoing)
    }

    /// A burst is over: the engine's control work, when it is due.
    pub(super) fn rest(&self) {
        let receiver = self.receives().then_some(self.handle.index);
        self.handle.engine.after_call(self.handle.engine.lock(), receiver);
    }
}
