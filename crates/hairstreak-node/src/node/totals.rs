//! `Totals`: the counters of all virtual hosts, deleted hosts included. A counter that fell would look like a restart of the
//! node.

use std::ops::AddAssign;

use hairstreak_broker::stats::HostStats;
use slab::Slab;

use super::received::Received;

/// The counters of a virtual host, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The counters of the host.
    pub stats: HostStats,
    /// Messages received from publishers.
    pub received: Received,
}

/// The counters of virtual hosts that were deleted.
#[derive(Debug, Default)]
pub(super) struct Past {
    ended: Totals,
    /// Counters at the deletion of hosts whose last connection has not left.
    leaving: Slab<Totals>,
}

impl Past {
    /// The counters of all deleted hosts.
    pub fn sum(&self) -> Totals {
        let mut sum = self.ended;
        self.leaving.iter().for_each(|(_, totals)| sum += *totals);
        sum
    }

    /// A host is deleted. Returns its number until its end.
    pub fn begin(&mut self, totals: Totals) -> usize {
        self.leaving.insert(totals)
    }

    /// The last connection of a deleted host has left.
    pub fn end(&mut self, number: usize, totals: Totals) {
        self.leaving.remove(number);
        self.ended += totals;
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Totals) {
        self.stats += other.stats;
        self.received += other.received;
    }
}
