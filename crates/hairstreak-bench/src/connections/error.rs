//! Why nothing was measured.

use std::io;

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionsError {
    /// A connection or a process failed.
    #[error("{subject}: {error}")]
    Failed {
        /// What was being done.
        subject: &'static str,
        /// What the system says.
        error: io::Error,
    },
    /// The server's process said something else than where it listens.
    #[error("the {0} did not say where it listens")]
    Silent(&'static str),
    /// The node could not start.
    #[error("the node cannot start: {0}")]
    Node(#[from] hairstreak_node::StartError),
    /// The report could not be printed.
    #[error("cannot print the report: {0}")]
    Report(#[from] serde_json::Error),
}

/// For `map_err`: what was being done.
pub(super) fn failed(subject: &'static str) -> impl Fn(io::Error) -> ConnectionsError {
    move |error| ConnectionsError::Failed { subject, error }
}
