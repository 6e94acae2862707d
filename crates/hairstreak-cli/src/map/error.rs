//! `CrewError`: why work cannot go on.

use std::ffi::OsString;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use hairstreak_socket as socket;
use rustix::io::Errno;
use thiserror::Error;

use super::ending::Ending;
use super::framing::SplitError;

/// Why work cannot go on.
#[derive(Debug, Error)]
pub enum CrewError {
    #[error("there is no command")]
    NoCommand,
    #[error("cannot start {}: {source}", .program.display())]
    Start { program: OsString, source: io::Error },
    #[error("the filter has ended {count} times without ever giving an answer: it {}", Ending(*.status))]
    NeverAnswers { count: u32, status: ExitStatus },
    #[error(
        "the filter has ended with {answers} answers for {given} records: a filter gives one for each, in order; what \
         gives others, or none, is run once per record by --each"
    )]
    TooFew { answers: u64, given: u64 },
    #[error(
        "the filter has given more answers than it had records: it gives one for each, in order; what gives others is \
         run once per record by --each"
    )]
    TooMany,
    #[error("an answer cannot be taken: {0}")]
    Answer(#[from] SplitError),
    /// There is nobody any more who would be told.
    #[error("the work has been stopped")]
    Stopped,
    #[error("the map at {place} is gone, for {for_time:?} now, and its work is not done")]
    Lost { place: String, for_time: Duration },
    #[error("no map has been found at {place} for {for_time:?}")]
    NeverFound { place: String, for_time: Duration },
    #[error("the last {0} results were not taken")]
    Unsettled(u64),
    #[error("cannot go on: {0}")]
    System(io::Error),
    #[error(transparent)]
    Poller(#[from] socket::AddError),
    #[error(transparent)]
    Wait(#[from] socket::WaitError),
    #[error(transparent)]
    Receive(#[from] socket::RecvError),
    #[error(transparent)]
    Send(#[from] socket::SendError),
}

impl CrewError {
    /// Whether the system has no descriptor, process or memory to give now.
    pub fn is_shortage(&self) -> bool {
        let (CrewError::Start { source, .. } | CrewError::System(source)) = self else { return false };
        let short = [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM];
        Errno::from_io_error(source).is_some_and(|error| short.contains(&error))
    }
}
