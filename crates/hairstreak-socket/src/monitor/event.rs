//! `Event`: one thing that happened to a socket or to one of its connections.

use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use hairstreak_transport::Endpoint;
use hairstreak_wire::zmtp::{GreetingError, HandshakeError, PeerError};

use crate::session::SessionError;

/// Numbers a socket's connections, from 1, in the order of their beginning. No number is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, by the system's clock.
    pub at: SystemTime,
    /// What.
    pub kind: EventKind,
    /// The endpoint bound or connected that it is about; `None` for what is about the socket.
    pub endpoint: Option<Endpoint>,
    /// The connection that it is about, if there is one yet; the same as in
    /// [`PeerInfo`](crate::PeerInfo::connection).
    pub connection: Option<ConnectionId>,
    /// The peer's address (tcp), once there is one.
    pub remote: Option<SocketAddr>,
    /// What a ROUTER calls the peer; else what the peer announced, possibly nothing.
    pub routing_id: Vec<u8>,
    /// Events that this monitor lost between the one before and this one, its queue being full.
    pub lost_count: u64,
}

/// What happened. In brackets, libzmq's name for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// The endpoint is bound. (LISTENING)
    Listening,
    /// The endpoint could not be bound. (BIND_FAILED)
    BindFailed {
        /// As the error of `bind` says it.
        reason: String,
    },
    /// The endpoint is bound no more. (CLOSED)
    Unbound,
    /// A connection came in; its handshake begins. (ACCEPTED)
    Accepted,
    /// The system could not give a connection that came in; the listener pauses. (ACCEPT_FAILED)
    AcceptFailed {
        /// What the system said.
        reason: String,
    },
    /// A connection that came in was closed at once: the address rules do not permit its address.
    Denied,
    /// A connection was closed before its handshake: `connections_max` is reached, or the pattern takes no further
    /// peer.
    Refused,
    /// An attempt to connect is under way: it waits for the peer's host, for the look-up of its name, or for
    /// somebody to bind the name (inproc). (CONNECT_DELAYED)
    Connecting,
    /// The attempt failed before there was a connection.
    ConnectFailed {
        /// What the system or the resolver said.
        reason: String,
    },
    /// The next attempt follows after a wait. (CONNECT_RETRIED)
    Retrying {
        /// How long.
        wait: Duration,
        /// Attempts since the last success, this one included.
        attempt: u32,
    },
    /// There is a connection; its handshake begins. (CONNECTED)
    Connected,
    /// The peer is ready, and messages may cross. For inproc the only one of these, for a STREAM the last: they have no handshake.
    /// (HANDSHAKE_SUCCEEDED)
    HandshakeSucceeded,
    /// The connection goes on in shared memory.
    SharedMemory,
    /// (HANDSHAKE_FAILED_PROTOCOL, _AUTH, _NO_DETAIL)
    HandshakeFailed {
        /// What kind of failure it was.
        failure: HandshakeFailure,
        /// The whole story, for people.
        reason: String,
    },
    /// The peer has not answered a PING, nor shown any other sign of life, since it was sent. It is given up when
    /// `heartbeat_timeout_ms` have passed so.
    Silent {
        /// How long that is by now.
        since: Duration,
    },
    /// A connection that had its handshake is over. (DISCONNECTED)
    Disconnected {
        /// Who ended it, or what.
        cause: DisconnectCause,
        /// The whole story, for people.
        reason: String,
    },
    /// The socket is closed. What it has accepted is still sent, and told of. (MONITOR_STOPPED comes with the end of
    /// the stream, [`MonitorRecvError::Ended`](crate::monitor::MonitorRecvError::Ended).)
    Closed,
}

/// Why a handshake failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandshakeFailure {
    /// The peer does not speak ZMTP 3, or not as it should.
    Protocol,
    /// The two sides have no security mechanism in common. Only the side that sees it first is sure to say so; for
    /// the other the connection ends ([`HandshakeFailure::Disconnected`]).
    Mechanism,
    /// The client's credentials were refused, by this side or by the peer.
    Auth {
        /// The status code: 400, or 300 for now; libzmq's authenticators may give 500 too (RFC 27).
        status: u16,
    },
    /// What the peer sealed does not open: it has other keys than it should, or this side has.
    Keys,
    /// The two socket types do not go together, or the peer names none.
    SocketType,
    /// The peer refused for a reason of its own.
    Refused,
    /// This socket does not want the peer: a PAIR has one, a ROUTER has one of that name.
    Unwanted,
    /// The endpoint needs shared memory (`shm://`), and there is no agreement about it.
    NotShared,
    /// `handshake_timeout_ms` have passed.
    TimedOut,
    /// The connection ended, or failed, in the middle of it.
    Disconnected,
    /// This side disconnected or closed.
    Local,
}

/// What ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DisconnectCause {
    /// The peer closed it, or its process has ended.
    Peer,
    /// The system reported a failure: a reset, a host that is unreachable.
    Network,
    /// The peer broke the protocol.
    Protocol,
    /// The peer passed a limit of this socket.
    Limit,
    /// The peer showed no sign of life for `heartbeat_timeout_ms`.
    Silent,
    /// A new peer took the place of this one (`router_handover`).
    HandedOver,
    /// This side disconnected or closed.
    Local,
}

impl EventKind {
    /// What the end of a connection is told as: of one that was `ready`, and `left` from this side.
    pub(crate) fn of_end(error: &SessionError, ready: bool, left: bool) -> EventKind {
        let reason = error.to_string();
        if ready {
            let cause = if left { DisconnectCause::Local } else { DisconnectCause::of(error) };
            EventKind::Disconnected { cause, reason }
        } else {
            let failure = if left { HandshakeFailure::Local } else { HandshakeFailure::of(error) };
            EventKind::HandshakeFailed { failure, reason }
        }
    }
}

impl HandshakeFailure {
    fn of(error: &SessionError) -> HandshakeFailure {
        match error {
            SessionError::Handshake(error) => HandshakeFailure::of_handshake(error),
            SessionError::Closed | SessionError::Io(_) => HandshakeFailure::Disconnected,
            SessionError::Left => HandshakeFailure::Local,
            SessionError::Unwanted | SessionError::HandedOver => HandshakeFailure::Unwanted,
            SessionError::NotShared => HandshakeFailure::NotShared,
            SessionError::PeerError(_) => HandshakeFailure::Refused,
            SessionError::HandshakeTimeout => HandshakeFailure::TimedOut,
            _ => HandshakeFailure::Protocol,
        }
    }

    fn of_handshake(error: &HandshakeError) -> HandshakeFailure {
        match error {
            HandshakeError::Greeting(GreetingError::OtherMechanism { .. }) => HandshakeFailure::Mechanism,
            HandshakeError::Unauthorized { status } => HandshakeFailure::of_reason(status),
            HandshakeError::Refused { reason } => HandshakeFailure::of_reason(reason),
            HandshakeError::Sealed { .. } | HandshakeError::Cookie | HandshakeError::Vouch => {
                HandshakeFailure::Keys
            }
            HandshakeError::Peer(PeerError::RoutingIdTooLarge { .. }) => HandshakeFailure::Protocol,
            HandshakeError::Peer(_) => HandshakeFailure::SocketType,
            _ => HandshakeFailure::Protocol,
        }
    }

    /// The reason of an ERROR: a status code (RFC 27), or words.
    fn of_reason(reason: &str) -> HandshakeFailure {
        match reason.parse() {
            Ok(status @ 300..=599) if reason.len() == 3 => HandshakeFailure::Auth { status },
            _ => HandshakeFailure::Refused,
        }
    }
}

impl DisconnectCause {
    fn of(error: &SessionError) -> DisconnectCause {
        match error {
            SessionError::Closed | SessionError::PeerError(_) => DisconnectCause::Peer,
            SessionError::Io(_) => DisconnectCause::Network,
            SessionError::TooLarge(_)
            | SessionError::TooManyFrames(_)
            | SessionError::Subscription(_)
            | SessionError::Stuck
            | SessionError::Slow => DisconnectCause::Limit,
            SessionError::Silent => DisconnectCause::Silent,
            SessionError::HandedOver => DisconnectCause::HandedOver,
            SessionError::Left | SessionError::Linger | SessionError::Unwanted => DisconnectCause::Local,
            _ => DisconnectCause::Protocol,
        }
    }
}
