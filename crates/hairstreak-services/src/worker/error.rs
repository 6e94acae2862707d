//! `WorkerError`: why a worker could not be opened, or ended.

use hairstreak_socket as socket;
use hairstreak_wire::mdp::SERVICE_NAME_SIZE_MAX;
use thiserror::Error;

/// Why a worker could not be opened, or ended before it was asked to.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// There is no broker in the list.
    #[error("no broker to connect to was given")]
    NoBroker,
    /// No service can be called so.
    #[error("a service's name of {0} bytes: it must have 1 to {SERVICE_NAME_SIZE_MAX}")]
    ServiceName(usize),
    /// The name is one of the broker's own.
    #[error("\"{0}\" is a service of the broker itself")]
    Management(String),
    /// A socket could not be opened.
    #[error(transparent)]
    Open(#[from] socket::OpenError),
    /// An endpoint cannot be connected to.
    #[error(transparent)]
    Connect(#[from] socket::ConnectError),
    /// A broker does not let this program in, or not as a worker of the service.
    #[error("{broker} refuses: {reason}")]
    Unauthorized {
        /// Which broker.
        broker: String,
        /// Why.
        reason: String,
    },
    /// The system has no threads or descriptors left.
    #[error("cannot start a worker: {0}")]
    System(#[from] std::io::Error),
    /// The poller does not take a socket.
    #[error(transparent)]
    Poller(#[from] socket::AddError),
    /// The sockets cannot be waited for.
    #[error(transparent)]
    Wait(#[from] socket::WaitError),
    /// Nothing can be received.
    #[error(transparent)]
    Receive(#[from] socket::RecvError),
}
