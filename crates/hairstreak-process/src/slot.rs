//! `Slot`: a command that runs beside others. `Record`: its input. `SlotContext`: the poller, the results and the
//! progress that slots share.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hairstreak_socket::settlement::TaskRun;
use hairstreak_socket::{Message, Poller};

use super::children::Children;
use super::error::CommandPoolError;
use super::results::Results;

/// Pause before the next attempt to start a command, after a shortage of resources.
pub const SHORTAGE_PAUSE: Duration = Duration::from_millis(50);
/// Most attempts while no other command runs. A running command returns resources when it ends.
const SHORTAGE_TRIES_MAX: u32 = 40;

/// A record and its task.
#[derive(Debug)]
pub struct Record {
    /// The task.
    pub run: TaskRun,
    /// The record.
    pub message: Message,
    /// Number of processes that died after they had begun this record, as far as is known, without an answer to it.
    pub deaths: u32,
    /// Number of these processes that had no other record.
    pub tries: u32,
}

impl Record {
    /// Returns a record that was not yet given to a command.
    pub fn new(run: TaskRun, message: Message) -> Record {
        Record { run, message, deaths: 0, tries: 0 }
    }
}

/// Events of a process that the poller found.
#[derive(Clone, Copy, Debug, Default)]
pub struct News {
    /// The process takes input again.
    pub input: bool,
    /// Output can be read.
    pub output: bool,
    /// The process has ended.
    pub end: bool,
}

impl News {
    /// Returns whether anything happened.
    pub fn is_any(self) -> bool {
        self.input || self.output || self.end
    }
}

/// The parts that all slots share.
pub struct SlotContext<'a> {
    /// The poller of all processes.
    pub poller: &'a mut Poller,
    /// The results on their way to the sink.
    pub results: &'a mut Results,
    /// The processes at work.
    pub children: &'a Children,
    /// The progress.
    pub counts: &'a Counts,
    /// Writes a line for the user.
    pub warn: fn(&str),
    /// The time of this turn.
    pub now: Instant,
    /// No more records are expected. Held-back answers are due.
    pub is_last: bool,
}

impl SlotContext<'_> {
    /// Returns whether the start of a command is tried again after [`SHORTAGE_PAUSE`]. `tries` attempts in a row have
    /// failed. The reason must be a shortage of descriptors, processes or memory: a command that ends returns some.
    pub fn may_try_again(&self, error: &CommandPoolError, tries: u32) -> bool {
        if !error.is_shortage() || self.children.are_none() && tries >= SHORTAGE_TRIES_MAX {
            return false;
        }
        if self.counts.shortages.fetch_add(1, Ordering::Relaxed) == 0 {
            (self.warn)(&format!("{error}: fewer commands run side by side"));
        }
        true
    }

    /// Passes on the result of a record that a command ran for alone: its output and the reason of its failure. An
    /// empty reason means success. The result has two frames.
    pub fn finish(&mut self, record: &Record, output: &[u8], reason: &str) -> Result<(), CommandPoolError> {
        Ok(self.results.pass_on_frames(record.run, &[output, reason.as_bytes()])?)
    }
}

/// One of the commands that work side by side. One thread drives all of them.
pub trait Slot {
    /// Returns the number of records that the slot takes now.
    fn room(&self, now: Instant) -> usize;
    /// Returns the number of records in the slot.
    fn load(&self) -> usize;
    /// Takes up to `count` records from the front of `queue`, at least one if there is room. Does not block.
    fn give(
        &mut self,
        queue: &mut VecDeque<Record>,
        count: usize,
        context: &mut SlotContext<'_>,
    ) -> Result<(), CommandPoolError>;
    /// Continues the work after an event of the process, at the deadline, or after new records. Does not block.
    fn go_on(&mut self, news: News, context: &mut SlotContext<'_>) -> Result<(), CommandPoolError>;
    /// Time at which the slot continues without an event.
    fn deadline(&self) -> Option<Instant>;
    /// Returns whether the slot has no process and no work.
    fn is_idle(&self) -> bool;
}

/// Returns the pause before a command that keeps ending is started again. The pause grows with each end.
pub fn backoff(fruitless: u32) -> Duration {
    const LONGEST_MS: u64 = 16;
    Duration::from_millis(1u64.checked_shl(fruitless.saturating_sub(1)).unwrap_or(LONGEST_MS).min(LONGEST_MS))
}

/// Progress of the work. One thread increments a count and others display it, so no ordering is needed.
#[derive(Debug, Default)]
pub struct Counts {
    /// Records read.
    pub records: AtomicU64,
    /// Bytes read.
    pub bytes: AtomicU64,
    /// Records that have their result, or failed.
    pub done: AtomicU64,
    /// Records that failed.
    pub failed: AtomicU64,
    /// Records that were given to a local command again.
    pub redone: AtomicU64,
    /// Commands that failed although every record of theirs was answered.
    pub failed_ends: AtomicU64,
    /// Early ends of commands. The user is told of the first.
    pub early_ends: AtomicU64,
    /// Starts that failed for lack of processes or descriptors. The user is told of the first.
    pub shortages: AtomicU64,
}
