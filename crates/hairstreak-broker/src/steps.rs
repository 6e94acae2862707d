//! `Steps`: the work that one call of a virtual host may still do, in counted steps.
//!
//! A step costs about as much as one queue entry. An operation without steps left stops, and continues in a later call, so that
//! no call keeps the lock of its host for long. Indivisible work is counted when it is done: a call overruns by that work at
//! most.
//!
//! - `visit_slice`: a part of a table. Between two parts of a long list other connections get the lock.

use slab::Slab;

/// The steps of a call.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    left: usize,
    done: u64,
}

impl Steps {
    /// Steps for work that is not divided.
    pub(crate) fn unlimited() -> Steps {
        Steps { left: usize::MAX, done: 0 }
    }

    /// A call begins.
    #[inline]
    pub(crate) fn begin(&mut self, limit: usize) {
        self.left = limit;
    }

    /// Charges steps that are done.
    #[inline]
    pub(crate) fn charge(&mut self, count: usize) {
        self.left = self.left.saturating_sub(count);
        self.done += count as u64;
    }

    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    #[inline]
    pub(crate) fn are_spent(&self) -> bool {
        self.left == 0
    }

    /// The steps of all calls so far.
    #[inline]
    pub(crate) fn done(&self) -> u64 {
        self.done
    }
}

/// Visits the items at the `count_max` positions from `from` on. Returns the position to go on from; `None` at the end.
///
/// An item that exists from the first slice to the last is visited once. Insertions and removals meanwhile do not matter.
pub(crate) fn visit_slice<T>(
    slab: &Slab<T>,
    from: usize,
    count_max: usize,
    mut visit: impl FnMut(usize, &T),
) -> Option<usize> {
    let end = from.saturating_add(count_max.max(1)).min(slab.capacity());
    for position in from..end {
        if let Some(item) = slab.get(position) {
            visit(position, item);
        }
    }
    (end < slab.capacity()).then_some(end)
}
