//! What an engine holds: sockets, links, listeners and connectors, in tables; all behind its lock.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Waker;
use std::thread::Thread;
use std::time::Instant;

use hairstreak_base::{BlockPool, Frame};
use hairstreak_transport::{Endpoint, Listener, ResolveError};
use hairstreak_wire::zmtp::{RemotePeer, SocketType};
use slab::Slab;

use crate::options::{Distribution, Options};
use crate::ring_link::{Doorbell, RingLink};
use crate::session::{ArrivingBudget, Session};

use super::authenticating::Question;
use super::routing::SHORT_SIZE_MAX;

/// The engine's tables. A socket, link, listener or connector is named by its index in its table.
pub(crate) struct State {
    /// Wakes the leader.
    pub doorbell: Arc<Doorbell>,
    /// Spare memory for messages.
    pub pool: Arc<BlockPool>,
    pub sockets: Slab<SocketState>,
    pub links: Slab<Link>,
    pub listeners: Slab<BoundListener>,
    pub connectors: Slab<Connector>,
    /// Links with bytes or messages that gather.
    pub dirty: Vec<usize>,
    pub ring_count: usize,
    /// Messages that crossed a ring since a caller last slept.
    pub ring_traffic: usize,
    pub ring_spin: super::wait::RingSpin,
    /// Serial numbers for links and connectors: an index is used again, a serial is not.
    pub next_serial: u32,
    /// Numbers for futures that wait.
    pub next_waiter: u64,

    /// Whether a thread sleeps in the poller or handles its events.
    pub leader: bool,
    /// The socket for which the leader waits, and whether there was news for it since it last looked.
    pub leads_for: Option<usize>,
    pub leader_has_news: bool,
    pub followers: Vec<Follower>,
    /// To be run when the lock has been released.
    pub after: Vec<After>,
    /// Turns led so far: how the tick sees that callers were here.
    pub turns: u64,
    /// Reads and writes since the last turn: control work is due when it grows.
    pub io_since_turn: u32,
    /// A link had used up its turn with more to read: the leader must not sleep on it.
    pub unread_left: bool,
    /// Whether the background thread watches the engine's poller.
    pub watched: bool,
    pub ticks: super::timers::Ticks,
    /// The earliest time at which a timer of the tables is due.
    pub due: Option<Instant>,
    /// The time of the last turn; good enough for time-outs of seconds.
    pub now: Instant,
}

/// A blocked thread that is not the leader.
pub(crate) struct Follower {
    pub socket: usize,
    pub thread: Thread,
}

/// What must not happen under the lock.
pub(crate) enum After {
    Wake(Waker),
    /// Its last clone may hold a whole task, whose end is the application's code.
    Forget(Waker),
    /// Look for the inproc name of this connector (index, serial).
    ConnectInproc(usize, u32),
    /// Resolve the host of this connector (index, serial) on a thread of its own.
    Resolve(usize, u32),
    /// Ask the application about a client.
    Authenticate(Box<Question>),
}

pub(crate) struct SocketState {
    pub socket_type: SocketType,
    pub options: Arc<Options>,
    /// Any short message goes to its links in turn: neither by name nor to all, and within the limit.
    pub short_in_turn: bool,
    /// Its ready links.
    pub links: Vec<usize>,
    /// Ready links with room, and whose turn it is.
    pub with_room: Vec<usize>,
    pub send_turn: usize,
    /// Ready links that may have a message, and whose turn it is.
    pub with_messages: Vec<usize>,
    pub receive_turn: usize,
    /// Ready ring links, which have no poller event and must be looked at.
    pub rings: Vec<usize>,
    /// ROUTER: links by routing id.
    pub by_routing_id: HashMap<Vec<u8>, usize>,
    pub next_routing_id: u32,
    /// Threads blocked in a receive.
    pub receivers: usize,
    pub wakers: Vec<(u64, Waker)>,
    pub closed: bool,
    /// No handle is left: its index may be used again once the last connection is gone.
    pub abandoned: bool,
    /// Connections in any phase.
    pub connection_count: usize,
    /// What their messages hold that have not come whole.
    pub arriving: Arc<ArrivingBudget>,
    pub sent: u64,
    pub received: u64,
    pub dropped_no_peer: u64,
    pub dropped_peer_lost: u64,
    pub failed_connections: u64,
    pub refused_connections: u64,
    pub denied_connections: u64,
}

impl SocketState {
    pub fn new(socket_type: SocketType, options: Options) -> SocketState {
        SocketState {
            socket_type,
            short_in_turn: socket_type != SocketType::Router
                && options.distribution == Distribution::RoundRobin
                && options.message_size_max >= SHORT_SIZE_MAX,
            arriving: Arc::new(ArrivingBudget::new(options.arriving_bytes_max)),
            options: Arc::new(options),
            links: Vec::new(),
            with_room: Vec::new(),
            send_turn: 0,
            with_messages: Vec::new(),
            receive_turn: 0,
            rings: Vec::new(),
            by_routing_id: HashMap::new(),
            next_routing_id: fastrand::u32(..),
            receivers: 0,
            wakers: Vec::new(),
            closed: false,
            abandoned: false,
            connection_count: 0,
            sent: 0,
            received: 0,
            dropped_no_peer: 0,
            dropped_peer_lost: 0,
            failed_connections: 0,
            refused_connections: 0,
            denied_connections: 0,
        }
    }
}

/// Where a link came from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// A connector of ours, by index.
    Connector(usize),
    /// An endpoint we bound.
    Listener(Endpoint),
    /// The connection has ended; messages of it remain.
    Ended,
}

/// A connection of a socket, in any phase.
pub(crate) struct Link {
    pub serial: u32,
    pub socket: usize,
    pub origin: Origin,
    /// Set when ready.
    pub peer: Option<RemotePeer>,
    /// What a ROUTER calls the peer.
    pub routing_id: Frame,
    pub kind: LinkKind,
    /// It wrote by itself, its segment or batch being full, since the flush tick last looked.
    pub wrote: bool,
    /// Listed in its socket's `with_room`, `with_messages`, in the engine's `dirty`.
    pub listed_room: bool,
    pub listed_messages: bool,
    pub listed_dirty: bool,
}

pub(crate) enum LinkKind {
    Stream(Box<Session>),
    Ring(Box<RingLink>),
}

pub(crate) struct BoundListener {
    pub socket: usize,
    pub listener: Listener,
    /// Set while descriptors are short.
    pub paused_until: Option<Instant>,
}

/// What keeps one connected endpoint connected.
pub(crate) struct Connector {
    pub serial: u32,
    pub socket: usize,
    pub endpoint: Endpoint,
    pub attempt: u32,
    pub state: ConnectorState,
    /// Why the last look-up of its host failed.
    pub trouble: Option<ResolveError>,
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) enum ConnectorState {
    /// A link is up or on its way.
    Linked,
    /// The next attempt is due then.
    Waiting(Instant),
    /// The resolver's thread, or the inproc registry, will call back.
    Asked,
}

/// Tokens of the poller: what an event is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Link { index: usize, serial: u32 },
    Listener { index: usize },
}

const LISTENER_BIT: u64 = 1 << 63;

impl Token {
    pub fn encode(self) -> u64 {
        match self {
            Token::Link { index, serial } => (u64::from(serial & 0x7fff_ffff) << 32) | index as u64,
            Token::Listener { index } => LISTENER_BIT | index as u64,
        }
    }

    pub fn decode(token: u64) -> Token {
        if token & LISTENER_BIT != 0 {
            return Token::Listener { index: (token & !LISTENER_BIT) as usize };
        }
        Token::Link { index: token as u32 as usize, serial: (token >> 32) as u32 }
    }
}

impl State {
    pub fn new(doorbell: Arc<Doorbell>, now: Instant) -> State {
        State {
            doorbell,
            pool: BlockPool::new(),
            sockets: Slab::new(),
            links: Slab::new(),
            listeners: Slab::new(),
            connectors: Slab::new(),
            dirty: Vec::new(),
            ring_count: 0,
            ring_traffic: 0,
            ring_spin: Default::default(),
            next_serial: 0,
            leader: false,
            leads_for: None,
            leader_has_news: false,
            followers: Vec::new(),
            after: Vec::new(),
            turns: 0,
            io_since_turn: 0,
            unread_left: false,
            next_waiter: 0,
            watched: false,
            ticks: super::timers::Ticks::default(),
            due: None,
            now,
        }
    }

    pub fn new_serial(&mut self) -> u32 {
        self.next_serial = (self.next_serial + 1) & 0x7fff_ffff;
        self.next_serial
    }

    /// Tells everybody who waits for this socket to look again.
    pub fn notify(&mut self, socket: usize) {
        if self.leads_for == Some(socket)
            && !std::mem::replace(&mut self.leader_has_news, true)
            && self.leader
        {
            self.doorbell.poller.wake();
        }
        for follower in self.followers.iter().filter(|follower| follower.socket == socket) {
            follower.thread.unpark();
        }
        if let Some(socket) = self.sockets.get_mut(socket) {
            self.after.extend(socket.wakers.drain(..).map(|(_, waker)| After::Wake(waker)));
        }
    }

    /// Whether the socket connects only to hosts that the resolver does not know, and nobody can connect to it:
    /// then waiting for a peer is in vain.
    pub fn is_in_vain(&self, socket: usize) -> bool {
        let mut connectors =
            self.connectors.iter().filter(|(_, connector)| connector.socket == socket).peekable();
        connectors.peek().is_some()
            && connectors.all(|(_, c)| c.trouble.as_ref().is_some_and(|trouble| !trouble.is_temporary()))
            && !self.listeners.iter().any(|(_, bound)| bound.socket == socket)
    }

    /// A timer is due at `at`, perhaps earlier than all others.
    pub fn due_at(&mut self, at: Instant) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// Whether a task waits for any socket: then the engine must be watched while nobody is inside.
    pub fn has_wakers(&self) -> bool {
        self.sockets.iter().any(|(_, socket)| !socket.wakers.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_as_they_were() {
        for token in [
            Token::Link { index: 0, serial: 0x7fff_ffff },
            Token::Link { index: u32::MAX as usize, serial: 1 },
            Token::Listener { index: 5 },
        ] {
            assert_eq!(Token::decode(token.encode()), token);
            assert_ne!(token.encode(), u64::MAX);
        }
    }
}
