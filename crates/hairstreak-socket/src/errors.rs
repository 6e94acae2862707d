//! The errors of the socket operations, one enum per operation.

use std::io;

use hairstreak_transport::vortex::VortexError;
use hairstreak_transport::{EndpointError, ResolveError};
use thiserror::Error;

use crate::options::OptionsError;
use crate::proxy::ProxyEnd;
use crate::pubsub::index::SubscriptionError;

/// Why a socket could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// An option is out of range.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The system has no descriptors or threads left.
    #[error("cannot open a socket: {0}")]
    System(#[from] io::Error),
}

/// Why an endpoint could not be bound.
#[derive(Debug, Error)]
pub enum BindError {
    /// The text is no endpoint.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The host has no address here.
    #[error("cannot bind {endpoint}: {source}")]
    Resolve {
        /// As given.
        endpoint: String,
        /// Why.
        source: ResolveError,
    },
    /// The name or port is taken.
    #[error("cannot bind {0}: it is in use")]
    InUse(String),
    /// The system refused otherwise.
    #[error("cannot bind {endpoint}: {source}")]
    System {
        /// As given.
        endpoint: String,
        /// What the system said.
        source: io::Error,
    },
    /// A STREAM socket, whose peers speak no ZMTP, uses tcp, ipc and vortex only.
    #[error("a STREAM socket cannot use {0}: tcp, ipc and vortex only")]
    NeedsZmtp(String),
    /// The socket is closed.
    #[error("the socket is closed")]
    Closed,
    /// The socket was opened by the process that this one was forked from. Open another one.
    #[error("the socket belongs to the process that this one was forked from")]
    Forked,
}

/// Why an endpoint cannot be connected to, now or ever. A peer that is merely absent is no error.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The text is no endpoint.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The endpoint is a wildcard.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// The endpoint of a fabric is a wildcard.
    #[error(transparent)]
    Vortex(#[from] VortexError),
    /// A STREAM socket, whose peers speak no ZMTP, uses tcp, ipc and vortex only.
    #[error("a STREAM socket cannot use {0}: tcp, ipc and vortex only")]
    NeedsZmtp(String),
    /// The socket is closed.
    #[error("the socket is closed")]
    Closed,
    /// The socket was opened by the process that this one was forked from. Open another one.
    #[error("the socket belongs to the process that this one was forked from")]
    Forked,
}

/// Why a message was not accepted. The caller still has it.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SendError {
    /// No peer has room now.
    #[error("no peer has room for the message now")]
    WouldBlock,
    /// No peer had room in time.
    #[error("no peer had room for the message in time")]
    TimedOut,
    /// The message is larger than the socket's limit.
    #[error("the message of {size} bytes is larger than message_size_max ({limit})")]
    TooLarge {
        /// Bytes of all frames.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// The message has more frames than the socket's limit.
    #[error("the message of {count} frames has more than frame_count_max ({limit})")]
    TooManyFrames {
        /// Its frames.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// The first frame is not the routing id of a connected peer.
    #[error("no connected peer has the routing id that the first frame gives")]
    Unroutable,
    /// A REQ waits for its reply, a REP has no request to reply to.
    #[error("it is this socket's turn to receive")]
    OutOfTurn,
    /// XSUB: a subscription over the socket's own limits.
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
    /// The socket is closed.
    #[error("the socket is closed")]
    Closed,
    /// The socket was opened by the process that this one was forked from. Open another one.
    #[error("the socket belongs to the process that this one was forked from")]
    Forked,
}

/// Why not all messages of a batch were accepted. The caller still has those that were not.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("{source} (after {sent_count} that were sent)")]
pub struct SendAllError {
    /// How many were accepted: the first ones.
    pub sent_count: usize,
    /// Why the next was not.
    pub source: SendError,
}

/// Why a subscription was refused.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SubscribeError {
    /// It is over the socket's own limits.
    #[error(transparent)]
    Limit(#[from] SubscriptionError),
    /// The socket is closed.
    #[error("the socket is closed")]
    Closed,
    /// The socket was opened by the process that this one was forked from. Open another one.
    #[error("the socket belongs to the process that this one was forked from")]
    Forked,
}

/// Why a poller does not take a socket, a descriptor or a time.
#[derive(Debug, Error)]
pub enum AddError {
    /// Something has that key already.
    #[error("the key {0} is in use")]
    KeyInUse(usize),
    /// The system does not watch the descriptor: a regular file is always ready, or there is no memory left.
    #[error("cannot watch the descriptor: {0}")]
    System(#[from] io::Error),
    /// The socket, or the poller, was made by the process that this one was forked from. Make another one.
    #[error("the socket or the poller belongs to the process that this one was forked from")]
    Forked,
}

/// Why the interest in something could not be changed.
#[derive(Debug, Error)]
pub enum ModifyError {
    /// No socket and no descriptor has that key.
    #[error("no socket and no descriptor has the key {0}")]
    NoSuchKey(usize),
    /// The system does not watch the descriptor any more.
    #[error("cannot watch the descriptor: {0}")]
    System(#[from] io::Error),
}

/// Why a proxy cannot be made of these sockets.
#[derive(Debug, Error)]
pub enum ProxyError {
    /// The pattern does not do for that end. REQ and REP send and receive in turn: DEALER and ROUTER stand for them.
    #[error("a {socket_type} socket cannot be the {end} of a proxy")]
    Unfit {
        /// Where it was to be.
        end: ProxyEnd,
        /// What it is.
        socket_type: &'static str,
    },
    /// Neither receives what the other could send.
    #[error("nothing can pass between {frontend} and {backend}")]
    NoWay {
        /// What the frontend is.
        frontend: &'static str,
        /// What the backend is.
        backend: &'static str,
    },
    /// The system has no descriptors left.
    #[error("cannot make a proxy: {0}")]
    System(#[from] io::Error),
    /// A socket was opened by the process that this one was forked from.
    #[error(transparent)]
    Add(#[from] AddError),
}

/// Why a proxy ended without having been told to.
#[derive(Debug, Error)]
pub enum RunError {
    /// That socket is closed.
    #[error("the {0} of the proxy is closed")]
    Closed(ProxyEnd),
    /// It cannot wait.
    #[error(transparent)]
    Wait(#[from] WaitError),
}

/// Why a poller does not wait.
#[derive(Debug, Error)]
pub enum WaitError {
    /// The system has no memory left.
    #[error("cannot wait: {0}")]
    System(#[from] io::Error),
    /// The poller was made by the process that this one was forked from. Make another one.
    #[error("the poller belongs to the process that this one was forked from")]
    Forked,
}

/// Why there is no message.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RecvError {
    /// None is here now.
    #[error("no message is here now")]
    WouldBlock,
    /// None came in time.
    #[error("no message came in time")]
    TimedOut,
    /// A REQ has asked nothing, a REP has not replied yet.
    #[error("it is this socket's turn to send")]
    OutOfTurn,
    /// Of a PULL that settles: every sender has said that no message follows, or this side asked for none and has had
    /// all that was under way.
    #[error("no message follows")]
    Ended,
    /// The peer that had the request is gone without a reply. It may have done what it was asked for.
    #[error("the peer that had the request is gone")]
    PeerLost,
    /// The socket is closed.
    #[error("the socket is closed")]
    Closed,
    /// The socket was opened by the process that this one was forked from. Open another one.
    #[error("the socket belongs to the process that this one was forked from")]
    Forked,
}
