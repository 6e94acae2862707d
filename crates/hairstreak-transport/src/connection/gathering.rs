//! `Gathering`: how long and how much a busy connection gathers before it writes.
//!
//! An idle connection writes at once. After a write the connection counts as busy for a while; meanwhile bytes gather, so that
//! one write carries them.

use std::time::{Duration, Instant};

use hairstreak_base::SEGMENT_SIZE;

/// A connection that last wrote longer ago than this counts as idle: the next message is written at once.
pub const GATHER_TIME: Duration = Duration::from_micros(50);
/// The same when as much was written as gathers at most: writes of that size to other connections take their time.
const BUSY_TIME: Duration = Duration::from_millis(5);
/// The bytes that gather for one write while messages of the peer wait to be answered: then both ends are at work, each
/// on a part of what is under way.
const ANSWER_SIZE: usize = SEGMENT_SIZE / 4;

#[derive(Debug)]
pub(super) struct Gathering {
    /// Until when the connection counts as busy.
    busy_until: Option<Instant>,
    /// The most bytes that gather for one write.
    bytes_max: usize,
    /// When something was last read.
    last_read: Option<Instant>,
}

impl Default for Gathering {
    fn default() -> Gathering {
        Gathering { busy_until: None, bytes_max: SEGMENT_SIZE, last_read: None }
    }
}

impl Gathering {
    #[inline]
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    pub fn has_read(&mut self, now: Instant) {
        (self.last_read, self.bytes_max) = (Some(now), ANSWER_SIZE);
    }

    pub fn is_idle_again(&mut self) {
        self.busy_until = None;
    }

    /// Whether what is put in now waits for more. `answers`: bytes of the peer wait to be answered by the caller, who
    /// flushes before it sleeps.
    pub fn is_busy(&self, now: Instant, answers: bool) -> bool {
        self.busy_until.is_some_and(|until| now < until)
            || (answers && self.last_read.is_some_and(|last| now.duration_since(last) < GATHER_TIME))
    }

    /// A write is about to be made. `was_empty`: its first bytes did not have to wait.
    pub fn writes(&mut self, now: Instant, was_empty: bool, answers: bool) {
        self.bytes_max = if answers { ANSWER_SIZE } else { SEGMENT_SIZE };
        self.busy_until = Some(now + if was_empty { GATHER_TIME } else { BUSY_TIME });
    }
}
