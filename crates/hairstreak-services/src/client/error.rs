//! The errors of a client, one enum per operation.

use std::time::Duration;

use hairstreak_socket as socket;
use hairstreak_wire::hsn1::Refusal;
use hairstreak_wire::mdp::SERVICE_NAME_SIZE_MAX;
use thiserror::Error;

/// Why a client could not be opened.
#[derive(Debug, Error)]
pub enum ClientError {
    /// There is no broker in the list.
    #[error("no broker to connect to was given")]
    NoBroker,
    /// A socket could not be opened.
    #[error(transparent)]
    Open(#[from] socket::OpenError),
    /// An endpoint cannot be connected to.
    #[error(transparent)]
    Connect(#[from] socket::ConnectError),
    /// The system has no random bytes for the client's id.
    #[error("no random bytes: {0}")]
    Random(#[source] std::io::Error),
}

/// Why a request has no reply.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RequestError {
    /// No service can be called so.
    #[error("a service's name of {0} bytes: it must have 1 to {SERVICE_NAME_SIZE_MAX}")]
    ServiceName(usize),
    /// The time was over; the request is withdrawn. A worker may have done it, or may be about to.
    #[error("no reply within {0:?}")]
    TimedOut(Duration),
    /// The broker or the worker says that there will be no reply.
    #[error("{text} ({})", refusal.code())]
    Refused {
        /// Why.
        refusal: Refusal,
        /// In their words.
        text: String,
    },
    /// The broker does not let this program in.
    #[error("{broker} refuses: {reason}")]
    Unauthorized {
        /// Which broker.
        broker: String,
        /// Why.
        reason: String,
    },
    /// The request cannot be sent, as it is too large.
    #[error(transparent)]
    Send(#[from] socket::SendError),
    /// Parts of a reply were handed out, and their worker died. The worker that did the request once more says something else, or
    /// says it in other parts. The request is withdrawn.
    #[error("the rest of the reply is lost: its worker died, and the next one says it otherwise")]
    RepliesDiffer,
    /// Nobody receives the replies to what was sent.
    #[error("{0} replies have come that nobody has received")]
    Unread(usize),
    /// The system has no descriptors left to wait with.
    #[error("cannot wait for a reply: {0}")]
    System(String),
    /// The client is another process's.
    #[error("the client was opened in the process that forked this one")]
    Forked,
}
