//! `Lease`: the messages of a logged queue that may be delivered.
//!
//! ```text
//!   settled | delivered | may be delivered | lease on its way to the disk | not to be delivered yet
//!                               granted --'                   requested --'
//! ```
//!
//! After kill -9 the messages up to the last lease count as delivered, and no others: a delivery waits until the disk has the lease of
//! its message. A new lease is asked for while half of the last one is left, so that deliveries rarely wait. Leases grow with their
//! number: a queue that delivers little marks few messages that it has not delivered.

/// Messages of the first lease.
const LEASE_COUNT_MIN: u64 = 64;
/// Messages of a lease at most.
const LEASE_COUNT_MAX: u64 = 4_096;

/// The places up to which a queue has leases.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    /// Messages up to this place may be delivered.
    granted: u64,
    /// Messages up to this place may be delivered once the disk has the last lease.
    requested: u64,
    /// Messages up to this place count as delivered in an earlier run of the node.
    marked: u64,
    /// Messages of the last lease.
    count: u64,
    /// Messages up to this place may be delivered, and need no new lease.
    free: u64,
}

impl Lease {
    /// The lease of a queue that is not logged has no end.
    pub(crate) fn new(is_logged: bool) -> Lease {
        let marked = if is_logged { 0 } else { u64::MAX };
        Lease { granted: marked, requested: marked, marked, count: LEASE_COUNT_MIN / 2, free: marked }
    }

    /// The lease of a queue whose messages up to `marked` count as delivered.
    pub(crate) fn restored(marked: u64) -> Lease {
        Lease { granted: marked, requested: marked, marked, free: 0, ..Lease::new(true) }
    }

    /// Returns true if the message at that place may be delivered and no new lease is due.
    #[inline]
    pub(crate) fn is_free(&self, place: u64) -> bool {
        place <= self.free
    }

    /// Returns true if the message at that place may be delivered.
    pub(crate) fn has(&self, place: u64) -> bool {
        place <= self.granted
    }

    /// Returns true if the lease of the message at that place is on its way.
    pub(crate) fn is_awaited(&self, place: u64) -> bool {
        self.granted < place && place <= self.requested
    }

    /// Begins a new lease if the message at that place is near the end of the last one. Returns its last place.
    pub(crate) fn renew(&mut self, place: u64) -> Option<u64> {
        if place.saturating_add(self.count / 2) <= self.requested {
            return None;
        }
        self.count = (2 * self.count).min(LEASE_COUNT_MAX);
        self.requested = place.saturating_add(self.count);
        self.update();
        Some(self.requested)
    }

    /// The disk has a lease. Returns true if deliveries have gone on without: the queue needs a new lease.
    pub(crate) fn grant(&mut self, through: u64) -> bool {
        let was_free = self.granted == u64::MAX;
        self.granted = if was_free { through } else { self.granted.max(through) };
        self.update();
        was_free
    }

    /// The disk does not answer: deliveries go on without a lease until the disk has one. Returns false if the disk has that lease.
    pub(crate) fn overrun(&mut self, through: u64) -> bool {
        let is_late = self.granted < through;
        if is_late {
            (self.granted, self.free) = (u64::MAX, u64::MAX);
        }
        is_late
    }

    /// Returns the place up to which messages count as delivered once all deliveries of this run are settled or have returned.
    pub(crate) fn marked(&self) -> u64 {
        self.marked
    }

    fn update(&mut self) {
        self.free = self.granted.min(self.requested.saturating_sub(self.count / 2));
    }
}
