//! `BuildError`: why a client of the directory could not be started.

use std::io;

use hairstreak_socket::{ConnectError, OpenError};
use thiserror::Error;

/// Why a client of the directory could not be started. A directory that is merely absent is no reason.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The directory's address is none.
    #[error("cannot use the directory: {0}")]
    Directory(#[from] ConnectError),
    /// The socket towards the directory could not be opened.
    #[error("cannot use the directory: {0}")]
    Socket(#[from] OpenError),
    /// The thread that talks to the directory could not be started.
    #[error("cannot use the directory: {0}")]
    Thread(#[from] io::Error),
}
