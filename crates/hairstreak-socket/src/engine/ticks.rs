//! `Ticks`: what the timerfd of an engine is armed for.
//!
//! - The **flush tick** comes `gather_us` (50) after the first bytes that gather and writes them. For a link whose callers
//!   keep writing by themselves the tick is put off, up to 400 us at a time. Where callers always wrote before they slept the
//!   tick comes after 4 ms: each tick costs a wake-up.
//! - The **watch tick** comes 5 ms after the last caller left and, if no other came, gives the
//!   engine to the background thread.
//!
//! The ticks themselves are in `ticking`.

use std::time::{Duration, Instant};

/// The longest that the flush tick is put off for links whose callers write by themselves.
pub(super) const BUSY_GATHER_TIME: Duration = Duration::from_micros(400);
/// Callers that wrote what gathered by themselves so often, before they slept, are expected to do so again.
const SPARED_COUNT_MIN: u32 = 8;
/// When the flush tick comes for them: each that they did not need would have woken the background thread for nothing.
const TRUSTED_GATHER_TIME: Duration = Duration::from_millis(4);
const WATCH_TICK: Duration = Duration::from_millis(5);

/// See the module's description.
#[derive(Debug, Default)]
pub(crate) struct Ticks {
    pub(super) flush_at: Option<Instant>,
    /// How often in a row callers wrote what gathered by themselves, and went to sleep.
    spared_count: u32,
    /// How far the flush tick was put off last, links having written by themselves meanwhile.
    flush_delay: Duration,
    pub(super) watch_at: Option<Instant>,
    /// What was read and written when the watch tick was set.
    pub(super) io_at_watch_arm: (u64, u32),
    /// When the timerfd will fire.
    armed_for: Option<Instant>,
}

impl Ticks {
    /// Sets the flush tick for bytes that gather for `gather_time`, at most, from now on.
    #[inline]
    pub(super) fn set_flush(&mut self, gather_time: Duration) {
        let is_trusted = self.spared_count >= SPARED_COUNT_MIN;
        let least = if is_trusted { TRUSTED_GATHER_TIME } else { Duration::ZERO };
        let delay = gather_time.max(least);
        self.flush_at = Some(Instant::now() + delay);
        self.flush_delay = gather_time;
    }

    /// The flush tick is not needed: a caller has written what gathered.
    pub(super) fn spare_flush(&mut self) {
        if self.flush_at.take().is_some() {
            self.spared_count = self.spared_count.saturating_add(1);
        }
    }

    /// The flush tick comes. Returns whether it is due.
    pub(super) fn take_flush(&mut self, now: Instant) -> bool {
        let is_due = self.flush_at.is_some_and(|at| at <= now);
        if is_due {
            (self.flush_at, self.spared_count) = (None, 0);
        }
        is_due
    }

    /// Puts the flush tick off for links whose callers write by themselves.
    pub(super) fn put_flush_off(&mut self, now: Instant, gather_time: Duration) {
        self.flush_delay = (self.flush_delay * 2).min(BUSY_GATHER_TIME.max(gather_time));
        self.flush_at = Some(now + self.flush_delay);
    }

    /// Sets the watch tick, `io` having been read and written so far.
    pub(super) fn set_watch(&mut self, now: Instant, io: (u64, u32)) {
        self.watch_at = Some(now + WATCH_TICK);
        self.io_at_watch_arm = io;
    }

    /// The watch tick comes. Returns whether it is due.
    pub(super) fn take_watch(&mut self, now: Instant) -> bool {
        self.watch_at.take_if(|at| *at <= now).is_some()
    }

    /// When the timerfd is to be armed for, if it is not armed for that time or an earlier one: the ticks, or `due`.
    pub(super) fn arm(&mut self, due: Option<Instant>) -> Option<Instant> {
        let at = [self.flush_at, self.watch_at, due].into_iter().flatten().min()?;
        if self.armed_for.is_some_and(|armed| at >= armed) {
            return None;
        }
        self.armed_for = Some(at);
        Some(at)
    }

    /// The timerfd fired: it is not armed any more.
    pub(super) fn has_fired(&mut self) {
        self.armed_for = None;
    }
}
