//! `BuildError`: errors of starting a client of the directory.

use std::io;

use hairstreak_socket::{ConnectError, OpenError};
use thiserror::Error;

/// An error of starting a client of the directory. An absent directory is no error.
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
