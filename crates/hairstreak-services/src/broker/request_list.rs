//! `RequestList`: requests that wait for the same thing, in order.

use std::collections::VecDeque;

use super::requests::RequestRef;

/// References to requests that went elsewhere are swept out when there are so many more than others.
const STALE_COUNT_MIN: usize = 64;

/// References to requests. Those that went elsewhere are only counted out, and swept out in time, so that leaving costs
/// nothing and the list is never much longer than what it stands for.
#[derive(Debug, Default)]
pub(super) struct RequestList {
    references: VecDeque<RequestRef>,
    count: usize,
}

impl RequestList {
    /// How many requests wait here.
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

    /// The references in order, of which some may be of requests that went elsewhere.
    pub fn iter(&self) -> impl Iterator<Item = RequestRef> + '_ {
        self.references.iter().copied()
    }

    /// The first reference, be it of a request that went elsewhere.
    pub fn first(&self) -> Option<RequestRef> {
        self.references.front().copied()
    }

    /// Takes it; of a request that did not go elsewhere, `has_left` is to be told.
    pub fn pop_front(&mut self) -> Option<RequestRef> {
        self.references.pop_front()
    }

    /// One request went elsewhere; `is_here` says of which that is not so.
    pub fn has_left(&mut self, is_here: impl Fn(RequestRef) -> bool) {
        self.count = self.count.saturating_sub(1);
        if self.references.len() > 2 * self.count + STALE_COUNT_MIN {
            self.references.retain(|reference| is_here(*reference));
        }
    }
}
