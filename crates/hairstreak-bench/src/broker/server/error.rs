//! Why a broker could not be tested.

use std::io;

use super::super::amqp::AmqpError;

/// Why a broker could not be tested.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The benchmark passed something that is no task, or the keeper something that is no answer.
    #[error("not for a keeper: {0}")]
    Task(#[from] serde_json::Error),
    /// The broker's program could not be started.
    #[error("cannot start {program}: {error}")]
    Start {
        /// Which.
        program: String,
        /// The system's error.
        error: io::Error,
    },
    /// The broker ended before it answered.
    #[error("{program} ended; it said: {output}")]
    Ended {
        /// Which.
        program: String,
        /// The end of what it said.
        output: String,
    },
    /// The broker does not answer.
    #[error("{program} does not answer ({error}); it said: {output}")]
    Silent {
        /// Which.
        program: String,
        /// The error of the last attempt.
        error: AmqpError,
        /// The end of what it said.
        output: String,
    },
    /// The benchmark has ended before the broker answered.
    #[error("the benchmark is gone")]
    Abandoned,
    /// The keeper has said why on standard error.
    #[error("{0} could not be started")]
    Keeper(&'static str),
    /// A directory or a file of the broker, or what the system says of its process.
    #[error("{subject}: {error}")]
    Io {
        /// The failed step.
        subject: &'static str,
        /// The system's error.
        error: io::Error,
    },
}

/// For `map_err`: what was being done.
pub(super) fn failed(subject: &'static str) -> impl Fn(io::Error) -> ServerError {
    move |error| ServerError::Io { subject, error }
}
