//! `AmqpConnection`: one client of the node, on the loop that owns its stream.
//!
//! ```text
//!   Header --protocol header--> StartOk --login--> LogIn --answer--> TuneOk --limits--> Open --virtual host--> Running
//!   any --an error of the connection--> Closing --close-ok, or a time-out--> Over
//!   any --the client closes--> Left --the client ends its side, or a time-out--> Over
//!   any --the node stops, or the bytes make no sense--> Over
//! ```
//!
//! Held output is sent before the connection ends: the disk may refuse the changes that the output promises, and the client must
//! be told.
//!
//! Reading order: `protocol` (the calls of the loop), `handshake`, `session` and the files it names, `liveness`.
//!
//! - `Mail`: the events that wake a connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hairstreak_broker::vhost::ConnectionId;
use thiserror::Error;

use super::fault::Fault;
use super::liveness::Liveness;
use super::product::Tuned;
use super::session::Session;
use super::turn::Late;
use crate::access::{ConnectionSlot, Identity, LoginResult, Rights};
use crate::node::{ClientInfo, JournalError, LingeringPlace, Listed, Node, Peer, SharedHost};

/// Time limit from the connection to connection.open, and for close-ok.
pub(super) const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// Maximum time for a client that has closed the connection to end its side. A shorter heartbeat interval replaces it.
pub(super) const LINGER_TIME: Duration = Duration::from_secs(30);

/// One client.
pub(crate) struct AmqpConnection {
    pub(super) node: Arc<Node>,
    pub(super) phase: Phase,
    pub(super) client: Client,
    pub(super) tuned: Tuned,
    /// The place in a virtual host, while the phase is `Running`.
    pub(super) member: Option<Member>,
    pub(super) liveness: Liveness,
    /// Deadline of the handshake or the close.
    pub(super) deadline: Option<Instant>,
    /// The error with which the node ends the connection, until a turn sends it to the client.
    pub(super) forced: Option<Fault>,
    /// The node stops. The connection ends as soon as the client is told.
    pub(super) is_stopping: bool,
    /// Bytes to come of a frame that is passed over, while the phase is `Closing`.
    pub(super) passed_over: usize,
    /// Place in the list of connections that wait for their client, while the phase is `Left`.
    pub(super) lingers: Option<LingeringPlace>,
}

/// Phase of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The protocol header is next.
    Header,
    StartOk,
    /// The login is being checked.
    LogIn,
    TuneOk,
    /// connection.open is next.
    Open,
    Running,
    /// This side has sent connection.close: all but the answer is dropped.
    Closing,
    /// The client has sent connection.close, and was answered. The client ends its side first.
    Left,
    /// The conversation is over: the connection ends as soon as none of its output is held.
    Over,
}

/// The properties of the client.
#[derive(Debug, Default)]
pub(super) struct Client {
    pub peer: Peer,
    pub info: ClientInfo,
    /// The user, once it has logged in.
    pub identity: Option<Arc<Identity>>,
    pub has_logged_in: bool,
    pub capabilities: Capabilities,
}

/// The capabilities that the client announces.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Capabilities {
    pub authentication_failure_close: bool,
    pub connection_blocked: bool,
    pub consumer_cancel_notify: bool,
}

/// The connection's place in a virtual host.
pub(super) struct Member {
    pub host: Arc<SharedHost>,
    pub id: ConnectionId,
    /// The connection's place in the list of the node.
    pub listed: Listed,
    pub rights: Rights,
    /// The place among the connections of the user.
    pub slot: ConnectionSlot,
    /// Turns so far. The number is a ticket for answers that are held.
    pub turn_count: u64,
    /// Answers to unfinished operations of the host.
    pub late: Late,
    /// The host has not finished an operation of the connection: nothing is read.
    pub waits: bool,
    /// No more deliveries come until the connection reports its written bytes.
    pub is_full: bool,
    /// Enough is written for more deliveries, and the host is not yet notified.
    pub has_room: bool,
    /// Nothing is read until half of the answers are written.
    pub is_unread: bool,
    pub session: Box<Session>,
}

/// Reason for which the node ends a connection without a message.
#[derive(Debug, Error)]
pub(crate) enum AmqpError {
    /// Neither frames nor heartbeats came.
    #[error("missed heartbeats from the client")]
    Silent,
    /// The handshake, or the answer to connection.close, took too long.
    #[error("the client did not go on in time")]
    Late,
    /// The client disconnected while it had to wait.
    #[error("the client is gone")]
    Gone,
    /// The handshake failed in a case in which RabbitMQ sends nothing either.
    #[error("handshake: {0}")]
    Handshake(String),
}

impl AmqpConnection {
    pub fn new(node: Arc<Node>, peer: Peer, now: Instant) -> AmqpConnection {
        AmqpConnection {
            node,
            phase: Phase::Header,
            client: Client { peer, ..Client::default() },
            tuned: Tuned::BEFORE,
            member: None,
            liveness: Liveness::new(now),
            deadline: Some(now + HANDSHAKE_TIME),
            forced: None,
            is_stopping: false,
            passed_over: 0,
            lingers: None,
        }
    }
}

/// Mail that wakes a connection.
pub(crate) enum Mail {
    /// Something waits in the connection's outlet, or the alarm has changed.
    Outlet,
    /// The message log has synced messages of the connection.
    Synced,
    /// The node ends the connection, for this reason.
    Close(Box<str>),
    /// The answer to a login.
    LoggedIn(LoginResult),
    /// Changes that the connection made cannot be written. The answers to them are held.
    Uncommitted(JournalError),
}
