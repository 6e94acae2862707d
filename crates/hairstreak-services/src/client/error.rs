//! Errors of a client, one enum per operation.

use std::time::Duration;

use hairstreak_socket as socket;
use hairstreak_wire::hsn1::Refusal;
use hairstreak_wire::mdp::SERVICE_NAME_SIZE_MAX;
use thiserror::Error;

/// Reason that a client could not be opened.
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

/// Reason that a request has no reply.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RequestError {
    /// The name is not valid for a service.
    #[error("a service's name of {0} bytes: it must have 1 to {SERVICE_NAME_SIZE_MAX}")]
    ServiceName(usize),
    /// The timeout has expired, and the request is withdrawn. A worker may have done it, or may still do it.
    #[error("no reply within {0:?}")]
    TimedOut(Duration),
    /// The broker or the worker refused to reply.
    #[error("{text} ({})", refusal.code())]
    Refused {
        /// The code of the refusal.
        refusal: Refusal,
        /// The text of the refusal.
        text: String,
    },
    /// The broker does not let this program in.
    #[error("{broker} refuses: {reason}")]
    Unauthorized {
        /// The address of the broker.
        broker: String,
        /// The reason of the broker.
        reason: String,
    },
    /// The request is too large to be sent.
    #[error(transparent)]
    Send(#[from] socket::SendError),
    /// The worker died after some parts of its reply were returned, and the reply of the next worker differs. The text
    /// or the parts are not the same. The request is withdrawn.
    #[error("the rest of the reply is lost: its worker died, and the next one says it otherwise")]
    RepliesDiffer,
    /// The replies to earlier sends are not received.
    #[error("{0} replies have come that nobody has received")]
    Unread(usize),
    /// The system has no descriptors left for waiting.
    #[error("cannot wait for a reply: {0}")]
    System(String),
    /// The client belongs to another process.
    #[error("the client was opened in the process that forked this one")]
    Forked,
}
