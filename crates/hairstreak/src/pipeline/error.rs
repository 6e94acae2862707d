//! The errors of pipelines, one enum per operation.

use std::time::Duration;

use hairstreak_socket as socket;
use hairstreak_socket::{RecvError, SendError};
use thiserror::Error;

/// An error of opening a part of a pipeline.
#[derive(Debug, Error)]
pub enum PipelineError {
    /// A socket could not be opened.
    #[error(transparent)]
    Open(#[from] socket::OpenError),
    /// An endpoint could not be bound.
    #[error(transparent)]
    Bind(#[from] socket::BindError),
    /// An endpoint cannot be connected to.
    #[error(transparent)]
    Connect(#[from] socket::ConnectError),
    /// The system has no threads or descriptors left.
    #[error("cannot start a pipeline: {0}")]
    System(#[from] std::io::Error),
    /// The poller does not take a socket.
    #[error(transparent)]
    Poller(#[from] socket::AddError),
}

/// An error of finishing the work.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum FinishError {
    /// Tasks are unsettled at the end of the time. The ventilator can be asked again.
    #[error("not all is done in time: {unsettled} tasks are left")]
    Unfinished {
        /// Number of unsettled tasks.
        unsettled: u64,
    },
    /// All tasks are done or refused, but the dead-letter sink has not taken all refused tasks in time. The ventilator
    /// can be asked again.
    #[error("all tasks are done or refused, but {letters} dead letters are not taken")]
    LettersLeft {
        /// Number of letters that are not taken.
        letters: u64,
    },
}

/// An error that ends a worker.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// The ventilator, or all workers of the stage before, went without saying that the work is done, and did not come
    /// back.
    #[error("nobody hands out tasks, for {0:?} now, and the work is not done")]
    UpstreamLost(Duration),
    /// A result could not be sent.
    #[error(transparent)]
    Send(#[from] SendError),
    /// No task can be received.
    #[error(transparent)]
    Receive(#[from] RecvError),
    /// The worker was asked to leave, and the sink or the next stage did not settle its last results in time.
    #[error("{unsettled} results were not taken")]
    Unsettled {
        /// Number of unsettled results.
        unsettled: u64,
    },
}

/// An error of receiving results.
#[derive(Debug, Error)]
pub enum SinkError {
    /// The ventilator went without saying that the work is done, and did not come back.
    #[error("the ventilator is gone, for {0:?} now, and its work is not done")]
    VentilatorLost(Duration),
    /// No result can be received.
    #[error(transparent)]
    Receive(#[from] RecvError),
    /// The poller failed.
    #[error(transparent)]
    Wait(#[from] socket::WaitError),
}
