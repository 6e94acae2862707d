//! `CalibrationError`: why a machine could not be measured.

use hairstreak_socket::{BindError, ConnectError, OpenError, RecvError, SendError};
use thiserror::Error;

/// Why a machine could not be measured.
#[derive(Debug, Error)]
pub enum CalibrationError {
    /// No socket.
    #[error("cannot open a socket: {0}")]
    Open(#[from] OpenError),
    /// Nowhere to listen.
    #[error("cannot listen: {0}")]
    Bind(#[from] BindError),
    /// Nobody to connect to.
    #[error("cannot connect: {0}")]
    Connect(#[from] ConnectError),
    /// A message was not sent.
    #[error("cannot send: {0}")]
    Send(#[from] SendError),
    /// A message did not come.
    #[error("a message did not come: {0}")]
    Receive(#[from] RecvError),
    /// A measuring thread could not be started, or panicked.
    #[error("a measuring thread failed: {0}")]
    Thread(String),
    /// The figures make no sense, as where clocks do not go on.
    #[error("the machine gave figures that cannot be: {0}")]
    Figures(#[from] hairstreak_model::LinksError),
}
