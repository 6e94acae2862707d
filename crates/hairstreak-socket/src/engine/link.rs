//! `Link`: one connection of a socket, a stream or a ring, with what the engine keeps about it.

use std::collections::VecDeque;
use std::sync::Weak;
use std::time::{Duration, Instant};

use hairstreak_base::{Bytes, Message};
use hairstreak_transport::{Connection, Endpoint};
use hairstreak_wire::zmtp::RemotePeer;

use super::held::Held;
use super::memory::Carrier;
use super::settling::Pace;
use super::wait::Engine;
use crate::ages::LinkAges;
use crate::monitor::ConnectionId;
use crate::ring_link::RingLink;
use crate::session::Session;
use crate::settlement::Owed;
use crate::stats::Drops;

/// Where a link came from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// A connector of ours, by index.
    Connector(usize),
    /// An endpoint we bound.
    Listener,
    /// The connection has ended, or ends: messages of it, or for it, remain. It is none of its socket's `links`.
    Ended,
}

/// A connection of a socket, in any phase.
pub(crate) struct Link {
    pub serial: u32,
    pub socket: usize,
    /// Among the connections of its socket, past ones included.
    pub id: ConnectionId,
    pub origin: Origin,
    /// What was bound or connected.
    pub endpoint: Endpoint,
    /// Set when ready.
    pub peer: Option<RemotePeer>,
    /// What a ROUTER calls the peer.
    pub routing_id: Bytes,
    /// Of a ROUTER with notices: the peer has come, and its going is to be noted.
    pub is_noted: bool,
    pub kind: LinkKind,
    /// Its callers wrote, its segment or batch being full or they about to sleep, since the flush tick last looked.
    pub wrote: bool,
    /// The engine's `sleep_count` when something was last put on its way.
    pub sleep_count_seen: u64,
    /// When it became ready.
    pub since: Instant,
    /// Messages of the peer handed to the application.
    pub received: u64,
    /// Since when messages wait.
    pub ages: LinkAges,
    /// After what silence the peer is asked for a sign of life, if not as its socket's options say.
    pub heartbeat: Option<Duration>,
    pub drops: Drops,
    /// Only of a socket that drops the oldest.
    pub held: Option<Box<Held>>,
    /// Its peer has been told why it is not wanted any more, and that was counted.
    pub is_refused: bool,
    /// The peer takes no messages and tells of tasks: it is none of the socket's peers.
    pub only_reports: bool,
    /// How fast it settles.
    pub pace: Pace,
    /// Of a settled PULL.
    pub owed: Owed,
    /// A subscriber's ring: the publisher's link, and subscriptions for which the ring had no room.
    pub across: Option<Across>,
    pub subscriptions: VecDeque<Message>,
    /// Of a publisher's ring whose peer is gone: what it has left for the application, which does not receive.
    pub late: VecDeque<Message>,
    /// Listed in its socket's `with_room`, `with_messages`, in the engine's `dirty`.
    pub listed_room: bool,
    pub listed_messages: bool,
    pub listed_dirty: bool,
}

/// Where a new link belongs.
pub(crate) struct LinkPlace {
    pub serial: u32,
    pub socket: usize,
    pub id: ConnectionId,
    pub origin: Origin,
    pub endpoint: Endpoint,
    pub since: Instant,
}

/// The other end of a ring.
#[derive(Clone)]
pub(crate) struct Across {
    pub engine: Weak<Engine>,
    pub index: usize,
    pub serial: u32,
}

impl Carrier for Link {
    fn connection_mut(&mut self) -> Option<&mut Connection> {
        self.session_mut().map(|session| &mut session.connection)
    }
}

impl Link {
    /// As [`LinkKind::queued`], with what is held before it.
    pub fn queued(&mut self) -> (usize, usize) {
        let (count, bytes) = self.kind.queued();
        self.held.as_ref().map_or((count, bytes), |held| (count + held.count(), bytes + held.bytes()))
    }

    pub fn is_ring(&self) -> bool {
        matches!(self.kind, LinkKind::Ring(_))
    }

    /// Whether its peer takes nothing more, and is read to the end.
    pub fn has_write_failed(&self) -> bool {
        self.session().is_some_and(|session| session.connection.has_write_failed())
    }

    /// Whether nothing is here for the application, so that an event tells of what comes next. Of a ring none does.
    pub fn is_dry(&self) -> bool {
        self.session().is_some_and(|session| {
            !session.connection.is_readable() && !session.has_unread() && !session.is_ended()
        })
    }

    /// Its session, if it is a stream: rings never settle.
    pub fn session(&self) -> Option<&Session> {
        match &self.kind {
            LinkKind::Stream(session) => Some(session),
            LinkKind::Ring(_) => None,
        }
    }

    /// As [`Link::session`].
    pub fn session_mut(&mut self) -> Option<&mut Session> {
        match &mut self.kind {
            LinkKind::Stream(session) => Some(session),
            LinkKind::Ring(_) => None,
        }
    }

    /// A link before its handshake.
    pub fn new(place: LinkPlace, kind: LinkKind) -> Link {
        let LinkPlace { serial, socket, id, origin, endpoint, since } = place;
        Link {
            serial,
            socket,
            id,
            origin,
            endpoint,
            peer: None,
            routing_id: Bytes::EMPTY,
            is_noted: false,
            kind,
            since,
            received: 0,
            ages: LinkAges::default(),
            heartbeat: None,
            drops: Drops::default(),
            held: None,
            is_refused: false,
            only_reports: false,
            pace: Pace::default(),
            owed: Owed::default(),
            across: None,
            subscriptions: VecDeque::new(),
            late: VecDeque::new(),
            wrote: false,
            sleep_count_seen: 0,
            listed_room: false,
            listed_messages: false,
            listed_dirty: false,
        }
    }
}

pub(crate) enum LinkKind {
    Stream(Box<Session>),
    Ring(Box<RingLink>),
}

impl LinkKind {
    /// Messages put on the way to the peer so far.
    pub fn accepted_count(&self) -> usize {
        match self {
            LinkKind::Stream(session) => session.connection.output.accepted_count(),
            LinkKind::Ring(ring) => ring.accepted_count(),
        }
    }

    /// Bytes sent and received so far: on the wire, or of bodies through a ring.
    pub fn byte_counts(&self) -> (u64, u64) {
        match self {
            LinkKind::Stream(session) => {
                (session.connection.output.written_bytes(), session.connection.read_bytes())
            }
            LinkKind::Ring(ring) => ring.byte_counts(),
        }
    }

    /// How far what has come reaches, and where the part that waits for the application begins.
    pub fn positions_in(&self) -> (u64, u64) {
        match self {
            LinkKind::Stream(session) => session.positions_in(),
            LinkKind::Ring(ring) => ring.positions_in(),
        }
    }

    /// Messages and bytes accepted and not yet written, or taken.
    pub fn queued(&mut self) -> (usize, usize) {
        match self {
            LinkKind::Stream(session) => {
                (session.connection.output.queued_count(), session.connection.output.queued_bytes())
            }
            LinkKind::Ring(ring) => ring.queued(),
        }
    }

    /// Takes the next message if it has one frame and is here already.
    #[inline(always)]
    pub fn take_ready(&mut self, into: &mut Message) -> bool {
        match self {
            LinkKind::Ring(ring) => ring.take_ready(into),
            LinkKind::Stream(session) => session.take_ready(into),
        }
    }

    /// Sends a short body if it can simply join others that gather.
    #[inline(always)]
    pub fn push_gathering(&mut self, body: &[u8]) -> bool {
        match self {
            LinkKind::Stream(session) => session.push_gathering(body),
            LinkKind::Ring(ring) => ring.push_gathering(body),
        }
    }
}
