//! Why a part of a pipeline gave up; it says so on standard error, and the sample fails.

use std::io;

use hairstreak::pipeline;

use super::entry::PATIENCE;
use crate::sample::ContenderError;

/// Why a part gave up.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// The benchmark passed something that is no task.
    #[error("not a task: {0}")]
    Task(#[from] serde_json::Error),
    /// The task names fewer endpoints than its part has.
    #[error("the task names {0} endpoints, which is too few")]
    Endpoints(usize),
    /// A socket of libzmq failed.
    #[error("libzmq: {0}")]
    Libzmq(#[from] ContenderError),
    /// A part of ours could not be opened.
    #[error("hairstreak: {0}")]
    Open(#[from] pipeline::PipelineError),
    /// Ours could not send.
    #[error("hairstreak: {0}")]
    Send(#[from] hairstreak::SendError),
    /// Ours did not finish.
    #[error("hairstreak: {0}")]
    Finish(#[from] pipeline::FinishError),
    /// A worker of ours ended early.
    #[error("hairstreak: {0}")]
    Worker(#[from] pipeline::WorkerError),
    /// A sink of ours has no result.
    #[error("hairstreak: {0}")]
    Sink(#[from] pipeline::SinkError),
    /// Workers did not come.
    #[error("not all workers came in {} s", PATIENCE.as_secs())]
    Workers,
    /// Something arrived in another size than it was sent in.
    #[error("{what} of {size} bytes came where {expected} were sent")]
    Size {
        /// A task, a result, an acknowledgement.
        what: &'static str,
        /// What arrived.
        size: usize,
        /// What was sent.
        expected: usize,
    },
    /// Something is lost.
    #[error("nothing came for {} s, {came} of {expected} {what} did", PATIENCE.as_secs())]
    Lost {
        /// Results, acknowledgements.
        what: &'static str,
        /// So many.
        came: u64,
        /// Of so many.
        expected: u64,
    },
    /// The sink did not have each task once.
    #[error(
        "{missing} tasks never reached the sink and {surplus} results were too many; the first wrong one is {first}"
    )]
    NotOnce {
        /// Tasks without a result.
        missing: u64,
        /// Results of tasks that had one, or that were never sent.
        surplus: u64,
        /// The number of one of them.
        first: u64,
    },
    /// A worker could not wait for its task to be done.
    #[error("cannot wait: {0}")]
    Wait(#[from] rustix::io::Errno),
    /// The consumption or an answer could not be had.
    #[error("part: {0}")]
    Io(#[from] io::Error),
}
