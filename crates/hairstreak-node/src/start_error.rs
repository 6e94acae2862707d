//! `StartError`: why a node could not start, and `ReloadError`.

use std::io;
use std::path::PathBuf;

use hairstreak_socket::monitor::MonitorError;
use hairstreak_socket::{BindError, OpenError};
use hairstreak_transport::tls::TlsConfigError;
use thiserror::Error;

use crate::config::ConfigError;
use crate::operator::BootError;

/// A failure to start a node.
#[derive(Debug, Error)]
pub enum StartError {
    /// There is no endpoint to listen on.
    #[error("there is nothing to serve: every listener is switched off")]
    NoEndpoint,
    /// The key for CURVE that the configuration names cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An endpoint could not be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// An endpoint of AMQP could not be listened on.
    #[error("cannot listen on {endpoint}: {reason}")]
    Listen {
        /// As it was given.
        endpoint: String,
        /// The reason of the failure.
        reason: String,
    },
    /// A certificate or a key of TLS cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsConfigError),
    /// The data directory cannot be used.
    #[error(transparent)]
    Boot(#[from] BootError),
    /// The node's key for CURVE cannot be read or made.
    #[error("the key for CURVE in {}: {source}", directory.display())]
    CurveKey {
        /// The data directory.
        directory: PathBuf,
        /// The system's reason, or the content of the file.
        source: io::Error,
    },
    /// A socket could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A socket could not be watched.
    #[error(transparent)]
    Monitor(#[from] MonitorError),
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The system has no random bytes for the broker's id.
    #[error("no random bytes: {0}")]
    Random(io::Error),
}

/// A failure to apply a configuration while the node runs.
#[derive(Debug, Error)]
pub enum ReloadError {
    /// A certificate or a key of TLS cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsConfigError),
    /// A user is invalid.
    #[error(transparent)]
    User(#[from] BootError),
}
