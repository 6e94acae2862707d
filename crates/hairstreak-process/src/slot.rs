//! `Slot`: a command that works beside others. `Record`: its input. `SlotContext`: the poller, the results and the progress that slots share.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hairstreak_socket::settlement::TaskRun;
use hairstreak_socket::{Message, Poller};

use super::children::Children;
use super::error::CommandPoolError;
use super::results::Results;

/// The time before a command is tried again that the system could not start.
pub const SHORTAGE_PAUSE: Duration = Duration::from_millis(50);
/// Such tries while no command runs that could give something back.
const SHORTAGE_TRIES_MAX: u32 = 40;

/// A record, and the task that it is.
#[derive(Debug)]
pub struct Record {
    /// The task.
    pub run: TaskRun,
    /// The record.
    pub message: Message,
    /// How many processes died that had begun it, for all one can tell, and not answered it.
    pub deaths: u32,
    /// With how many of these it was alone.
    pub tries: u32,
}

impl Record {
    /// Returns a record that no command has had.
    pub fn new(run: TaskRun, message: Message) -> Record {
        Record { run, message, deaths: 0, tries: 0 }
    }
}

/// What the poller has found of a process.
#[derive(Clone, Copy, Debug, Default)]
pub struct News {
    /// It takes input again.
    pub input: bool,
    /// Something can be read.
    pub output: bool,
    /// It has ended.
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
    /// No more records are to be expected: what is held back should be given.
    pub is_last: bool,
}

impl SlotContext<'_> {
    /// Whether a command that could not be started is tried again after [`SHORTAGE_PAUSE`], which was done `tries` times in a row: the
    /// system has no descriptor or no process to give, and a command that ends gives some back.
    pub fn may_try_again(&self, error: &CommandPoolError, tries: u32) -> bool {
        if !error.is_shortage() || self.children.are_none() && tries >= SHORTAGE_TRIES_MAX {
            return false;
        }
        if self.counts.shortages.fetch_add(1, Ordering::Relaxed) == 0 {
            (self.warn)(&format!("{error}: fewer commands run side by side"));
        }
        true
    }

    /// What a command gave that ran for this record alone, and why that is a failure unless it is none. It is a result
    /// of two frames.
    pub fn finish(&mut self, record: &Record, output: &[u8], reason: &str) -> Result<(), CommandPoolError> {
        Ok(self.results.pass_on_frames(record.run, &[output, reason.as_bytes()])?)
    }
}

/// One of the commands that work side by side. One thread drives all of them.
pub trait Slot {
    /// How many records it takes now.
    fn room(&self, now: Instant) -> usize;
    /// How many it has.
    fn load(&self) -> usize;
    /// Takes up to `count` from the front of `queue`, at least one if there is room. Does not block.
    fn give(
        &mut self,
        queue: &mut VecDeque<Record>,
        count: usize,
        context: &mut SlotContext<'_>,
    ) -> Result<(), CommandPoolError>;
    /// Goes on: after news of its process, when its time has come, or when it was given something. Does not block.
    fn go_on(&mut self, news: News, context: &mut SlotContext<'_>) -> Result<(), CommandPoolError>;
    /// When it wants to go on without news.
    fn deadline(&self) -> Option<Instant>;
    /// Whether it has no process and nothing to do.
    fn is_idle(&self) -> bool;
}

/// How long before a command that keeps ending is started again: longer each time.
pub fn backoff(fruitless: u32) -> Duration {
    const LONGEST_MS: u64 = 16;
    Duration::from_millis(1u64.checked_shl(fruitless.saturating_sub(1)).unwrap_or(LONGEST_MS).min(LONGEST_MS))
}

/// The progress of the work. One thread adds to a count and others show it: no order is needed.
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
    /// Commands that failed though every record they had was answered.
    pub failed_ends: AtomicU64,
    /// The user was told that a command has ended early.
    pub early_ends: AtomicU64,
    /// The user was told that a command could not be started for want of processes or descriptors.
    pub shortages: AtomicU64,
}
