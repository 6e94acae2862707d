//! What messages hold that have not arrived whole, and the budget for it that the connections of a socket share.
//!
//! The first [`FREE_SIZE`] bytes of a message cost nothing: each connection has a read buffer of that size
//! anyway. Beyond that a message is charged with its wire bytes, a large body with the size it announced, until
//! it is whole. **A connection whose next frame would pass the budget is not read** until there is room, so its
//! peer waits as it does for a slow application; closing it instead would lose messages of peers that did
//! nothing wrong. Two rules keep that from being a trap:
//!
//! - One message may always proceed: where nobody holds anything, any message may begin, and one of those that
//!   hold something may go on beyond the budget. So a socket holds at most `arriving_bytes_max +
//!   message_size_max`, and no two messages wait for each other.
//! - A peer that keeps others waiting must bring its message to an end within `arriving_timeout_ms`, or its
//!   connection is closed: whoever stalls in the middle of a large message does not hold up the others for ever.
//!
//! All under the engine's lock; the atomics only let an engine move between threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use hairstreak_base::READ_SIZE;

use super::connection::Session;
use super::error::SessionError;

/// Bytes of each arriving message that are not charged.
const FREE_SIZE: usize = READ_SIZE;
/// When to look again where there is nothing to look for.
const NEVER: Duration = Duration::from_secs(3600);

/// The budget of one socket.
#[derive(Debug, Default)]
pub(crate) struct ArrivingBudget {
    bytes_max: usize,
    used: AtomicUsize,
    /// Connections that are not read for want of room.
    waiting: AtomicUsize,
    /// Somebody goes on beyond the budget.
    is_passed: AtomicBool,
}

impl ArrivingBudget {
    pub fn new(bytes_max: usize) -> ArrivingBudget {
        ArrivingBudget { bytes_max, ..ArrivingBudget::default() }
    }

    fn has_room(&self, held: usize, extra: usize) -> bool {
        let used = self.used.load(Relaxed);
        used == held || used.saturating_add(extra) <= self.bytes_max
    }
}

/// One connection's share.
#[derive(Debug)]
pub(super) struct Arriving {
    budget: Arc<ArrivingBudget>,
    /// Wire bytes of the message so far, a body with its announced size; 0 between messages.
    size: usize,
    /// What of it is charged to the budget.
    held: usize,
    /// It may go on beyond the budget.
    passes: bool,
    /// What it waits for room for, in bytes.
    waits_for: Option<usize>,
    /// Since when it has kept others waiting.
    presses_since: Option<Instant>,
}

impl Arriving {
    pub fn new(budget: Arc<ArrivingBudget>) -> Arriving {
        Arriving { budget, size: 0, held: 0, passes: false, waits_for: None, presses_since: None }
    }

    /// Whether a message has begun.
    #[inline]
    pub fn has_begun(&self) -> bool {
        self.size > 0
    }

    /// Whether the connection waits for room.
    #[inline]
    pub fn waits(&self) -> bool {
        self.waits_for.is_some()
    }

    /// The message goes on by `more` bytes, if there is room for them.
    pub fn admit(&mut self, more: usize) -> bool {
        let size = self.size + more;
        let extra = size.saturating_sub(FREE_SIZE).saturating_sub(self.held);
        let budget = &*self.budget;
        if extra > 0 && !self.passes && !budget.has_room(self.held, extra) {
            if self.held == 0 || budget.is_passed.swap(true, Relaxed) {
                self.wait_for(Some(extra));
                return false;
            }
            self.passes = true;
        }
        budget.used.store(budget.used.load(Relaxed) + extra, Relaxed);
        (self.size, self.held) = (size, self.held + extra);
        self.wait_for(None);
        true
    }

    /// A command between two frames: it keeps their buffers alive longer.
    pub fn add_command(&mut self, size: usize) {
        if self.has_begun() {
            self.size += size;
        }
    }

    /// The message is whole, or will never be.
    pub fn finish(&mut self) {
        let budget = &*self.budget;
        budget.used.store(budget.used.load(Relaxed) - self.held, Relaxed);
        if std::mem::take(&mut self.passes) {
            budget.is_passed.store(false, Relaxed);
        }
        (self.size, self.held, self.presses_since) = (0, 0, None);
        self.wait_for(None);
    }

    fn wait_for(&mut self, extra: Option<usize>) {
        let change = isize::from(extra.is_some()) - isize::from(self.waits());
        self.budget.waiting.store(self.budget.waiting.load(Relaxed).wrapping_add_signed(change), Relaxed);
        self.waits_for = extra;
    }

    /// Whether a wait for room is over.
    fn may_go_on(&self) -> bool {
        let may_pass = self.held > 0 && !self.budget.is_passed.load(Relaxed);
        self.waits_for.is_some_and(|extra| may_pass || self.budget.has_room(self.held, extra))
    }
}

impl Session {
    /// Whether the connection is not read for want of room.
    pub fn waits_for_room(&self) -> bool {
        self.arriving.waits()
    }

    /// Whether it was not and may be now.
    pub fn may_go_on(&self) -> bool {
        self.arriving.may_go_on()
    }

    /// Fails when the peer has kept others waiting for longer than `timeout`. Not while it waits itself, nor
    /// while this side does not read it. Returns when to look again.
    pub fn check_arriving(&mut self, now: Instant, timeout: Duration) -> Result<Instant, SessionError> {
        let others_wait = self.arriving.budget.waiting.load(Relaxed) > 0;
        if self.arriving.held == 0 || !others_wait || self.arriving.waits() || !self.has_room_ahead() {
            self.arriving.presses_since = None;
            return Ok(now + NEVER);
        }
        let end = *self.arriving.presses_since.get_or_insert(now) + timeout;
        if now >= end { Err(SessionError::Slow) } else { Ok(end) }
    }
}
