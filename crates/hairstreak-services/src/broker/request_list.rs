//! `RequestList`: requests that wait for the same event, in order.

use std::collections::VecDeque;

use super::requests::RequestRef;

/// Surplus of stale references over valid ones that starts a sweep. A reference is stale once its request is in another
/// place.
const STALE_COUNT_MIN: usize = 64;

/// References to requests. If a request leaves, only the count changes at once. Its reference is swept out later.
/// Leaving is therefore cheap, and the list is never much longer than the number of its requests.
#[derive(Debug, Default)]
pub(super) struct RequestList {
    references: VecDeque<RequestRef>,
    count: usize,
}

impl RequestList {
    /// Returns the number of requests in the list.
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn push_back(&mut self, reference: RequestRef) {
        self.references.push_back(reference);
        self.count += 1;
    }

    pub fn push_front(&mut self, reference: RequestRef) {
        self.references.push_front(reference);
        self.count += 1;
    }

    /// Returns the references in order. Some may be stale.
    pub fn iter(&self) -> impl Iterator<Item = RequestRef> + '_ {
        self.references.iter().copied()
    }

    /// Returns the first reference, which may be stale.
    pub fn first(&self) -> Option<RequestRef> {
        self.references.front().copied()
    }

    /// Takes the first reference. For a valid reference the caller must call `has_left`.
    pub fn pop_front(&mut self) -> Option<RequestRef> {
        self.references.pop_front()
    }

    /// Notes that one request has left. `is_here` returns whether a reference is still valid.
    pub fn has_left(&mut self, is_here: impl Fn(RequestRef) -> bool) {
        self.count = self.count.saturating_sub(1);
        if self.references.len() > 2 * self.count + STALE_COUNT_MIN {
            self.references.retain(|reference| is_here(*reference));
        }
    }
}
