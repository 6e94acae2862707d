//! `Barrier`: a card's knowledge of the barriers, which have numbers from 1 on.
//!
//! ```text
//!   a card -- Arrival (number) --> the card of rank 0, which counts ranks; when all have come -- Release (number) --> all cards
//! ```
//!
//! A card that has come and is not released comes again when the card of rank 0 is replaced, because its arrival or its release may be lost. A
//! rank counts once. A rank that comes again to a barrier that all have come to is released again.

use std::sync::atomic::{AtomicU64, Ordering};

/// The card that counts the ranks that have come to a barrier.
pub(super) const COUNTING_RANK: u32 = 0;

#[derive(Debug)]
pub(super) struct Barrier {
    /// The last barrier that this card has come to.
    entered: u64,
    /// The last barrier from which this card is released.
    passed: u64,
    /// The last barrier that the program knows to be passed.
    known: AtomicU64,
    /// Only the card of [`COUNTING_RANK`] uses the rest: the last barrier that all have come to.
    complete: u64,
    /// The last barrier that each rank has come to.
    arrivals: Vec<u64>,
    /// The number of ranks that have come to the barrier after `complete`.
    arrived: usize,
}

/// The cards that are released from a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Released {
    Nobody,
    /// The card that has come: all have come before.
    OnlyThis,
    All,
}

impl Barrier {
    pub fn new(size: u32) -> Barrier {
        Barrier {
            entered: 0,
            passed: 0,
            known: AtomicU64::new(0),
            complete: 0,
            arrivals: vec![0; size as usize],
            arrived: 0,
        }
    }

    /// The barrier's state for the next card of this rank. The count continues. The new card comes to the barrier that
    /// the old one has not passed.
    pub fn inherit(&mut self) -> Barrier {
        let Barrier { passed, complete, arrived, .. } = *self;
        let arrivals = std::mem::take(&mut self.arrivals);
        Barrier { entered: passed, passed, known: AtomicU64::new(passed), complete, arrivals, arrived }
    }

    /// Brings the program to the barrier after the last one that it knows to be passed. Returns the number of the
    /// arrival to send.
    pub fn enter(&mut self) -> Option<u64> {
        let next = *self.known.get_mut() + 1;
        if next <= self.entered {
            return None;
        }
        self.entered = next;
        Some(next)
    }

    /// The barrier that the card has come to and is not released from.
    pub fn waiting(&self) -> Option<u64> {
        (self.entered > self.passed).then_some(self.entered)
    }

    /// Tells the program the last barrier from which the card is released.
    pub fn tell_passed(&self) -> u64 {
        self.known.store(self.passed, Ordering::Relaxed);
        self.passed
    }

    /// The card is released from a barrier.
    pub fn pass(&mut self, number: u64) {
        self.passed = self.passed.max(number);
    }

    /// A rank has come to a barrier.
    pub fn count(&mut self, rank: u32, number: u64) -> Released {
        if number <= self.complete {
            return Released::OnlyThis;
        }
        let last = &mut self.arrivals[rank as usize];
        if *last >= number {
            return Released::Nobody;
        }
        *last = number;
        self.arrived += 1;
        if self.arrived < self.arrivals.len() {
            return Released::Nobody;
        }
        (self.arrived, self.complete) = (0, number);
        Released::All
    }
}
