//! Why a part of a service gave up; it says so on standard error, and the sample fails.

use std::io;

use crate::sample::ContenderError;

/// Why a part gave up.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// The benchmark passed something that is no task.
    #[error("not a task: {0}")]
    Task(#[from] serde_json::Error),
    /// The task is of no process that the scheme has.
    #[error("{scheme} has no process for {role}")]
    NoPart {
        /// Of the task.
        scheme: &'static str,
        /// Of the task.
        role: &'static str,
    },
    /// A contender failed.
    #[error(transparent)]
    Contender(#[from] ContenderError),
    /// A thread of the part gave up; it has said why.
    #[error("a thread of this process gave up")]
    Thread,
    /// No reply came, however often it was asked.
    #[error("no reply came in {0} s")]
    NoReply(u64),
    /// What came is no reply to what was asked.
    #[error("reply {number} is {reply:?}")]
    Reply {
        /// How many came before.
        number: u64,
        /// As it came.
        reply: String,
    },
    /// A peer does not keep to the protocol.
    #[error("a message of {frames} frames is none of the protocol's: {why}")]
    Protocol {
        /// Frames of the message.
        frames: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// The consumption or an answer could not be had.
    #[error("part: {0}")]
    Io(#[from] io::Error),
}
