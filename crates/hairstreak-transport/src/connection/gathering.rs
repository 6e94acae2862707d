//! `Gathering`: bounds the time and the bytes for which a busy connection gathers before it writes.
//!
//! An idle connection writes at once. After a write the connection counts as busy for a while; meanwhile bytes gather, so that
//! one write carries them.

use std::time::{Duration, Instant};

use hairstreak_base::SEGMENT_SIZE;

/// A connection that last wrote longer ago than this counts as idle: the next message is written at once.
pub const GATHER_TIME: Duration = Duration::from_micros(50);
/// The time that a connection counts as busy after a write of gathered bytes. It is longer because large writes to
/// other connections take time.
const BUSY_TIME: Duration = Duration::from_millis(5);
/// The bytes that gather for one write while messages of the peer wait for an answer. The size is small so that both
/// ends work at once, each on a part of the data.
const ANSWER_SIZE: usize = SEGMENT_SIZE / 4;

#[derive(Debug)]
pub(super) struct Gathering {
    /// Until when the connection counts as busy.
    busy_until: Option<Instant>,
    /// The most bytes that gather for one write.
    bytes_max: usize,
    /// Time of the last read.
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

    /// Returns `true` if new output waits for more. `answers`: the caller still answers bytes of the peer, and flushes
    /// before it sleeps.
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
