//! `CommandPoolError`: the errors that end the work of a pool; and `Ending`, the end of a process.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;
use std::{fmt, io};

use hairstreak_socket as socket;
use rustix::io::Errno;
use thiserror::Error;

use super::framing::SplitError;

/// An error that ends the work of a pool.
#[derive(Debug, Error)]
pub enum CommandPoolError {
    /// No command.
    #[error("there is no command")]
    NoCommand,
    /// The command cannot be started.
    #[error("cannot start {}: {source}", .program.display())]
    Start {
        /// The program.
        program: OsString,
        /// The system's reason.
        source: io::Error,
    },
    /// The filter keeps ending without an answer.
    #[error("the filter has ended {count} times without ever giving an answer: it {}", Ending(*.status))]
    NeverAnswers {
        /// Ends so far.
        count: u32,
        /// The last exit status.
        status: ExitStatus,
    },
    /// The filter ended with too few answers.
    #[error(
        "the filter has ended with {answers} answers for {given} records: a filter gives one for each, in order; what \
         gives others, or none, is run once per record by --each"
    )]
    TooFew {
        /// Answers given.
        answers: u64,
        /// Records given.
        given: u64,
    },
    /// The filter gave more answers than it had records.
    #[error(
        "the filter has given more answers than it had records: it gives one for each, in order; what gives others is \
         run once per record by --each"
    )]
    TooMany,
    /// A malformed answer.
    #[error("an answer cannot be taken: {0}")]
    Answer(#[from] SplitError),
    /// The work was stopped, and no reader is left.
    #[error("the work has been stopped")]
    Stopped,
    /// The map does not answer any more.
    #[error("the map at {place} is gone, for {for_time:?} now, and its work is not done")]
    Lost {
        /// The place of the map.
        place: String,
        /// Time without an answer.
        for_time: Duration,
    },
    /// The map was never found.
    #[error("no map has been found at {place} for {for_time:?}")]
    NeverFound {
        /// The place of the map.
        place: String,
        /// Time of looking.
        for_time: Duration,
    },
    /// Results that the sink did not take.
    #[error("the last {0} results were not taken")]
    Unsettled(u64),
    /// An error of the system.
    #[error("cannot go on: {0}")]
    System(io::Error),
    /// A process cannot be watched.
    #[error(transparent)]
    Poller(#[from] socket::AddError),
    /// The poller failed.
    #[error(transparent)]
    Wait(#[from] socket::WaitError),
    /// Tasks cannot be received.
    #[error(transparent)]
    Receive(#[from] socket::RecvError),
    /// Results cannot be sent.
    #[error(transparent)]
    Send(#[from] socket::SendError),
}

impl CommandPoolError {
    /// Returns whether the system is short of descriptors, processes or memory for the moment.
    pub fn is_shortage(&self) -> bool {
        let (CommandPoolError::Start { source, .. } | CommandPoolError::System(source)) = self else {
            return false;
        };
        let short = [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM];
        Errno::from_io_error(source).is_some_and(|error| short.contains(&error))
    }
}

/// End of a process in words: `exited with status 3` or `was killed by signal 9`.
#[derive(Clone, Copy, Debug)]
pub struct Ending(pub ExitStatus);

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.code(), self.0.signal()) {
            (Some(code), _) => write!(f, "exited with status {code}"),
            (None, Some(signal)) => write!(f, "was killed by signal {signal}"),
            (None, None) => write!(f, "ended in an unknown way"),
        }
    }
}
