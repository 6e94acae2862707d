//! `WorkerError`: the errors that keep a worker from opening, or end it.

use hairstreak_socket as socket;
use hairstreak_wire::mdp::SERVICE_NAME_SIZE_MAX;
use thiserror::Error;

/// Error of opening a worker, or of its end without a request to leave.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// There is no broker in the list.
    #[error("no broker to connect to was given")]
    NoBroker,
    /// The name is not valid for a service.
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
        /// The address of the broker.
        broker: String,
        /// The reason of the broker.
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
    /// The socket cannot receive.
    #[error(transparent)]
    Receive(#[from] socket::RecvError),
}
