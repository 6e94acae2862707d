//! Why a client gave up; it says so on standard error, and the sample fails.

use std::io;

use super::super::amqp::AmqpError;

/// Why a client gave up.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The benchmark passed something that is no task.
    #[error("not a task: {0}")]
    Task(#[from] serde_json::Error),
    /// The conversation with the broker broke down.
    #[error(transparent)]
    Amqp(#[from] AmqpError),
    /// The broker has not stored what it was given.
    #[error("{found} messages are in the queue and {expected} were published")]
    Stored {
        /// The messages in the queue.
        found: u64,
        /// The published messages.
        expected: u64,
    },
    /// The broker refused a message.
    #[error("the broker refused a message (basic.nack)")]
    Nack,
    /// A confirm is of no publish.
    #[error("the broker confirmed {tag} after {published} publishes")]
    Confirm {
        /// The tag of the confirm.
        tag: u64,
        /// The publishes so far.
        published: u64,
    },
    /// A thread of this process gave up.
    #[error("a thread of this process panicked")]
    Thread,
    /// It could not sleep.
    #[error("cannot wait: {0}")]
    Wait(#[from] rustix::io::Errno),
    /// The consumption or an answer could not be had.
    #[error("client: {0}")]
    Io(#[from] io::Error),
}
