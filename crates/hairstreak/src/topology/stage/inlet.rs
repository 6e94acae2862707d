//! `Inlet`: a command's standard input, and the tasks of the messages that went into it and are not answered.
//!
//! The tasks are readable while a write waits for the command. The command may wait in turn until its results are read.

use std::collections::VecDeque;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ChildStdin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hairstreak_socket::Message;
use hairstreak_socket::settlement::TaskRun;

use crate::topology::definition::Framing;
use crate::topology::framing::write_message;

/// A command's standard input.
pub(super) struct Inlet {
    framing: Framing,
    /// `None` after the input is closed.
    stdin: Mutex<Option<BufWriter<ChildStdin>>>,
    given: Mutex<Given>,
}

/// The messages that went into the command.
#[derive(Default)]
struct Given {
    count: u64,
    /// Tasks that [`Inlet::next_run`] has not returned: the first of each run, and their number.
    unanswered: VecDeque<(TaskRun, u64)>,
    is_complete: bool,
}

impl Inlet {
    pub(super) fn new(framing: Framing, stdin: ChildStdin) -> Inlet {
        let stdin = Mutex::new(Some(BufWriter::with_capacity(1 << 16, stdin)));
        Inlet { framing, stdin, given: Mutex::default() }
    }

    /// Writes messages, which belong to these tasks. The tasks are noted first, because the command may answer at once.
    pub(super) fn write(&self, messages: &[Message], runs: Vec<(TaskRun, u64)>) -> io::Result<()> {
        let mut stdin = lock(&self.stdin);
        let writer = stdin.as_mut().ok_or(ErrorKind::BrokenPipe)?;
        let mut given = lock(&self.given);
        given.count += messages.len() as u64;
        given.unanswered.extend(runs);
        drop(given);
        for message in messages {
            write_message(writer, self.framing, message.body())?;
        }
        writer.flush()
    }

    /// Closes the input. No message follows.
    pub(super) fn close(&self) {
        lock(&self.given).is_complete = true;
        *lock(&self.stdin) = None;
    }

    /// Returns the tasks of the next results: the first of a run, and their number. Each run is returned once.
    pub(super) fn next_run(&self) -> Option<(TaskRun, u64)> {
        lock(&self.given).unanswered.pop_front()
    }

    /// Returns the number of messages that went in.
    pub(super) fn count(&self) -> u64 {
        lock(&self.given).count
    }

    /// Returns whether all messages went in.
    pub(super) fn is_complete(&self) -> bool {
        lock(&self.given).is_complete
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
