//! The parts of the work that all cases share: receiving calls, the core of a thread, the usage of a member.

use std::sync::mpsc;

use anyhow::Result;

use crate::frame::cores;
use crate::frame::usage::Usage;
use crate::sample::contender::{Receiving, check_size};
use crate::sample::task::{BATCH_COUNT, Calls, Measurement, Role, Subject, Task};

/// Passes the endpoints of a measurer on to the peer.
pub(super) type Announce = dyn Fn(Vec<String>) -> Result<()>;
/// Yields once, when the order to finish comes.
pub(super) type Orders = mpsc::Receiver<()>;

/// Keeps each thread to a core of its own if both ends are threads of this process, or spin instead of sleeping.
/// Receivers begin with the first core, senders with the second.
pub(super) fn keep_apart(task: &Task, index: usize, sends: bool) {
    if task.role == Role::Both || task.subject.calls == Calls::Spin {
        cores::keep_to(2 * index + usize::from(sends));
    }
}

/// Runs `work`, which returns the number of messages that its clock timed, and the seconds of the clock. A peer has no
/// clock. The usage of the process meanwhile becomes part of the measurement.
pub(super) fn metered(work: impl FnOnce() -> Result<(u64, f64)>) -> Result<Measurement> {
    let before = Usage::now()?;
    let (timed_count, elapsed_s) = work()?;
    Ok(Measurement { timed_count, elapsed_s, usage: Usage::now()?.since(&before) })
}

/// Makes one call of the subject's kind after `count` messages. Returns the number of messages received.
pub(super) fn receive_some<R: Receiving>(receiver: &mut R, subject: &Subject, count: u64) -> Result<u64> {
    match subject.calls {
        Calls::Batch => Ok(receiver.receive_batch(subject.size, batch_count(subject, count))? as u64),
        Calls::One | Calls::Handle | Calls::Spin => {
            check_size(receiver.receive()?, subject.size)?;
            Ok(1)
        }
    }
}

/// The largest number of messages for the next batch call after `count` messages.
pub(super) fn batch_count(subject: &Subject, count: u64) -> usize {
    (subject.message_count - count).min(BATCH_COUNT as u64) as usize
}

/// Unwraps the outcome of a thread on which others wait: a failure ends the process.
pub(super) fn or_exit<T>(outcome: Result<T>) -> T {
    outcome.unwrap_or_else(|error| {
        eprintln!("hairstreak-bench: {error:#}");
        std::process::exit(1)
    })
}
