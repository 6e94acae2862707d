//! What messages hold that have not arrived whole, and the budget for it that the connections of a socket share.
//!
//! A message is charged with its wire bytes **as they arrive**, until it is whole. The first [`FREE_SIZE`] of
//! them cost nothing: each connection has a read buffer of that size anyway. Nor does announcing a large body:
//! its memory is only address space until bytes come, so a peer that announces much and sends little holds up
//! nobody. **A connection whose next frame, or next piece of a large body, would pass the budget is not read**
//! until there is room, so its peer waits as it does for a slow application; closing it instead would lose
//! messages of peers that did nothing wrong. Two rules keep that from being a trap:
//!
//! - One message may always proceed: where nobody holds anything, any message may begin, and one of those that
//!   hold something may go on beyond the budget. So a socket holds at most `arriving_bytes_max +
//!   message_size_max`, and no two messages wait for each other.
//! - A peer that keeps others waiting must bring its message to an end within `arriving_timeout_ms`, and in
//!   each [`PACE`]th of that time must end it or bring a [`PACE`]th of what it holds; or its connection is
//!   closed. So who stalls on much is gone soon, and who merely takes long is not.
//!
//! The budget lists who waits and who holds something, so that idle connections cost nothing: a timer of the socket
//! looks at those in the lists, while anybody waits. All under the engine's lock; the atomics and the lists' locks only let
//! an engine move between threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hairstreak_base::READ_SIZE;
use slab::Slab;

use super::error::SessionError;
use super::zmtp::Session;

/// Bytes of each arriving message that are not charged.
const FREE_SIZE: usize = READ_SIZE;
/// Into how many parts the time is cut within which a peer that keeps others waiting must end its message.
const PACE: u32 = 16;
/// The budget of one socket.
#[derive(Debug, Default)]
pub(crate) struct ArrivingBudget {
    bytes_max: usize,
    used: AtomicUsize,
    /// Connections that are not read for want of room.
    waiting: Links,
    /// Connections that hold something of it.
    holding: Links,
    /// Somebody goes on beyond the budget.
    is_passed: AtomicBool,
}

/// The links of some connections.
#[derive(Debug, Default)]
struct Links(Mutex<Slab<usize>>);

impl Links {
    fn list(&self) -> MutexGuard<'_, Slab<usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the link into the list, where `place` is to be, or takes it out.
    fn note(&self, place: &mut Option<usize>, link: usize, is_in: bool) {
        match *place {
            None if is_in => *place = Some(self.list().insert(link)),
            Some(at) if !is_in => {
                self.list().try_remove(at);
                *place = None;
            }
            _ => {}
        }
    }

    fn all(&self) -> Vec<usize> {
        self.list().iter().map(|(_, &link)| link).collect()
    }
}

impl ArrivingBudget {
    pub fn new(bytes_max: usize) -> ArrivingBudget {
        ArrivingBudget { bytes_max, ..ArrivingBudget::default() }
    }

    /// The links of connections that are not read for want of room.
    pub fn waiting(&self) -> Vec<usize> {
        self.waiting.all()
    }

    /// The links of connections that hold something of the budget.
    pub fn holding(&self) -> Vec<usize> {
        self.holding.all()
    }

    /// Whether any connection is not read for want of room.
    pub fn is_awaited(&self) -> bool {
        !self.waiting.list().is_empty()
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
    link: usize,
    /// Where the budget lists the link among those that wait, and those that hold something.
    waiting_at: Option<usize>,
    holding_at: Option<usize>,
    /// Wire bytes of the message so far; 0 between messages.
    size: usize,
    /// What of it is charged to the budget.
    held: usize,
    /// It may go on beyond the budget.
    passes: bool,
    /// What it waits for room for, in bytes.
    waits_for: Option<usize>,
    /// How it has kept others waiting.
    pressing: Option<Pressing>,
}

/// How a peer goes on while it keeps others waiting.
#[derive(Debug)]
struct Pressing {
    since: Instant,
    /// When its pace was measured last, and how much had arrived then.
    measured: Instant,
    size: usize,
    /// When somebody looked last.
    looked: Instant,
}

impl Pressing {
    /// Whether the peer goes on well enough; its message has `size` by now and holds `held` of the budget.
    fn goes_on(&mut self, now: Instant, timeout: Duration, size: usize, held: usize) -> bool {
        let part = timeout / PACE;
        // Where nobody looked for so long, this process stood still, and nobody else is to blame.
        let stood_still = now.duration_since(self.looked) > part / 2;
        self.looked = now;
        if now.duration_since(self.since) >= timeout {
            return false;
        }
        if !stood_still {
            if now.duration_since(self.measured) < part {
                return true;
            }
            if size - self.size < (held / PACE as usize).max(1) {
                return false;
            }
        }
        (self.measured, self.size) = (now, size);
        true
    }
}

impl Arriving {
    /// The share of this link's connection.
    pub fn new(budget: Arc<ArrivingBudget>, link: usize) -> Arriving {
        Arriving {
            budget,
            link,
            waiting_at: None,
            holding_at: None,
            size: 0,
            held: 0,
            passes: false,
            waits_for: None,
            pressing: None,
        }
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
        self.size = size;
        self.hold(self.held + extra);
        self.wait_for(None);
        true
    }

    /// Of what was admitted, `missing` bytes have not come.
    pub fn give_back(&mut self, missing: usize) {
        self.size -= missing;
        let held = self.held.min(self.size.saturating_sub(FREE_SIZE));
        let budget = &*self.budget;
        budget.used.store(budget.used.load(Relaxed) - (self.held - held), Relaxed);
        self.hold(held);
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
        self.size = 0;
        self.hold(0);
        self.wait_for(None);
    }

    fn hold(&mut self, held: usize) {
        self.held = held;
        if held == 0 {
            self.pressing = None;
        }
        self.budget.holding.note(&mut self.holding_at, self.link, held > 0);
    }

    fn wait_for(&mut self, extra: Option<usize>) {
        self.waits_for = extra;
        self.budget.waiting.note(&mut self.waiting_at, self.link, extra.is_some());
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

    /// Fails when the peer has kept others waiting and did not go on well enough, `timeout` being the most that it
    /// has. Not while it waits itself, nor while this side does not read it. To be called regularly while anybody waits, and
    /// once when nobody waits any more.
    pub fn check_arriving(&mut self, now: Instant, timeout: Duration) -> Result<(), SessionError> {
        let has_room_ahead = self.has_room_ahead();
        let Arriving { budget, size, held, pressing, waits_for, .. } = &mut self.arriving;
        if *held == 0 || !budget.is_awaited() || waits_for.is_some() || !has_room_ahead {
            *pressing = None;
            return Ok(());
        }
        let start = Pressing { since: now, measured: now, size: *size, looked: now };
        let pressing = pressing.get_or_insert(start);
        if pressing.goes_on(now, timeout, *size, *held) { Ok(()) } else { Err(SessionError::Slow) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(16);
    const PART: Duration = Duration::from_secs(1);
    /// Between two looks.
    const LOOK: Duration = Duration::from_millis(100);
    const HELD: usize = 16_000;

    fn budget(bytes_max: usize) -> Arc<ArrivingBudget> {
        Arc::new(ArrivingBudget::new(bytes_max))
    }

    #[test]
    fn what_has_arrived_is_charged_and_what_was_only_asked_for_is_given_back() {
        let budget = budget(1000);
        let (mut one, mut other) = (Arriving::new(budget.clone(), 1), Arriving::new(budget.clone(), 2));
        assert!(one.admit(FREE_SIZE + 900));
        one.give_back(500);
        assert!(other.admit(FREE_SIZE + 600), "at the bound");
        other.give_back(FREE_SIZE);
        assert_eq!(budget.used.load(Relaxed), 400);
        assert!(!other.admit(FREE_SIZE + 1), "past it");
        assert!(other.waits() && !other.may_go_on());
        assert_eq!((budget.holding(), budget.waiting(), budget.is_awaited()), (vec![1], vec![2], true));
        one.finish();
        assert_eq!((budget.holding(), budget.waiting()), (vec![], vec![2]));
        assert!(other.may_go_on() && other.admit(FREE_SIZE + 1));
        assert_eq!((budget.holding(), budget.is_awaited()), (vec![2], false));
        other.finish();
        assert_eq!((budget.used.load(Relaxed), budget.holding()), (0, vec![]));
    }

    #[test]
    fn of_two_half_messages_one_goes_on_beyond_the_budget_and_then_the_other() {
        let budget = budget(1000);
        let (mut one, mut other) = (Arriving::new(budget.clone(), 1), Arriving::new(budget, 2));
        assert!(one.admit(FREE_SIZE + 500) && other.admit(FREE_SIZE + 500));
        assert!(one.admit(5000) && !other.admit(5000));
        assert!(one.admit(5000) && !other.may_go_on());
        one.finish();
        assert!(other.may_go_on() && other.admit(5000));
    }

    /// After how many looks a peer is given up that holds `HELD` bytes and brings `brings(look)` more before each.
    fn given_up_after(looks: u32, brings: impl Fn(u32) -> usize) -> Option<u32> {
        let start = Instant::now();
        let mut size = 0;
        let mut pressing = Pressing { since: start, measured: start, size, looked: start };
        (1..=looks).find(|look| {
            size += brings(*look);
            !pressing.goes_on(start + LOOK * *look, TIMEOUT, size, HELD)
        })
    }

    #[test]
    fn a_peer_that_keeps_others_waiting_and_stalls_is_given_up_soon() {
        assert_eq!(given_up_after(200, |_| 0), Some(10));
        assert_eq!(given_up_after(200, |_| 1), Some(10), "byte by byte");
        assert_eq!(given_up_after(200, |look| if look <= 20 { 100 } else { 0 }), Some(30));
    }

    #[test]
    fn a_peer_that_goes_on_has_the_whole_time() {
        assert_eq!(given_up_after(159, |_| 100), None);
        assert_eq!(given_up_after(200, |_| 100), Some(160));
    }

    #[test]
    fn nobody_is_given_up_for_a_time_in_which_nobody_looked() {
        let start = Instant::now();
        let mut pressing = Pressing { since: start, measured: start, size: 0, looked: start };
        assert!(pressing.goes_on(start + 5 * PART, TIMEOUT, 0, HELD));
        let after = start + 5 * PART;
        assert!((1..10).all(|look| pressing.goes_on(after + LOOK * look, TIMEOUT, 0, HELD)));
        assert!(!pressing.goes_on(after + PART, TIMEOUT, 0, HELD));
    }
}
