//! `End`: why a connection is over.

use std::error::Error;
use std::io;

use thiserror::Error;

/// Why a connection is over.
#[derive(Debug, Error)]
pub enum End<E: Error> {
    /// This side closed it, and the peer has everything.
    #[error("this side closed the connection")]
    Closed,
    /// The stream broke.
    #[error("the connection failed: {0}")]
    Failed(#[from] io::Error),
    /// The protocol ended it.
    #[error("{0}")]
    Protocol(E),
    /// It was not established in time.
    #[error("the connection was not established in time")]
    NotEstablished,
    /// The peer did not take in time what was left when this side closed.
    #[error("the peer did not take in time what was left")]
    NotDrained,
}
