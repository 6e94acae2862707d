//! The errors of pipelines, one enum per operation.

use std::time::Duration;

use hairstreak_socket as socket;
use hairstreak_socket::{RecvError, SendError};
use thiserror::Error;

/// Why a part of a pipeline could not be opened.
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

/// Why the work is not finished.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum FinishError {
    /// The time was over. The ventilator can be asked again.
    #[error("not all is done in time: {unsettled} tasks are left")]
    Unfinished {
        /// How many.
        unsettled: u64,
    },
    /// The time was over. All tasks are done or refused, but the dead-letter sink has not taken all that were refused. The
    /// ventilator can be asked again.
    #[error("all tasks are done or refused, but {letters} dead letters are not taken")]
    LettersLeft {
        /// How many.
        letters: u64,
    },
}

/// Why a worker ended before its time.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// Who handed out tasks, the ventilator or all of the stage before, went without saying that the work is done, and did
    /// not come back.
    #[error("nobody hands out tasks, for {0:?} now, and the work is not done")]
    UpstreamLost(Duration),
    /// A result could not be sent.
    #[error(transparent)]
    Send(#[from] SendError),
    /// No task can be received.
    #[error(transparent)]
    Receive(#[from] RecvError),
    /// It was asked to leave, and the sink, or the next stage, did not settle its last results in time.
    #[error("{unsettled} results were not taken")]
    Unsettled {
        /// How many.
        unsettled: u64,
    },
}

/// Why there is no result.
#[derive(Debug, Error)]
pub enum SinkError {
    /// The ventilator went without saying that the work is done, and did not come back.
    #[error("the ventilator is gone, for {0:?} now, and its work is not done")]
    VentilatorLost(Duration),
    /// No result can be received.
    #[error(transparent)]
    Receive(#[from] RecvError),
    /// The sink cannot wait.
    #[error(transparent)]
    Wait(#[from] socket::WaitError),
}
