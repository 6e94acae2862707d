//! `Receivers`: the links of a settled PUSH by what they have, so that a link at rest costs nothing until it is chosen.
//!
//! ```text
//!            granted                      all settled, nothing granted
//!   [at rest] -----> [with something] ----------------------> [at rest]
//! ```
//!
//! A link is at rest while it has nothing unsettled and nothing granted, its receiver has credit and is not suspected of
//! hanging. Invariants: each link of the socket that has something is listed as such, with room or without, those that
//! drain too. A link at rest that has room is listed here and not in the socket's `with_room`.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct Receivers {
    with_something: BTreeSet<usize>,
    /// By when they last settled; of those that never did, the lowest index is the last.
    at_rest: BTreeSet<(Option<Instant>, Reverse<usize>)>,
}

impl Receivers {
    /// The links with something unsettled or granted, by index.
    pub fn with_something(&self) -> impl Iterator<Item = usize> {
        self.with_something.iter().copied()
    }

    /// The links at rest that have room: the one that settled last comes first.
    pub fn at_rest(&self) -> impl Iterator<Item = usize> {
        self.at_rest.iter().rev().map(|(_, Reverse(index))| *index)
    }

    /// How many links at rest have room.
    pub fn at_rest_count(&self) -> usize {
        self.at_rest.len()
    }

    pub fn note_something(&mut self, index: usize, has_something: bool) {
        if has_something {
            self.with_something.insert(index);
        } else {
            self.with_something.remove(&index);
        }
    }

    /// The link with room rests since it settled last. Returns whether it was not listed so.
    pub fn rest(&mut self, index: usize, settled: Option<Instant>) -> bool {
        self.at_rest.insert((settled, Reverse(index)))
    }

    /// The link has no room, or rests no more; nothing was settled meanwhile. Returns whether it was listed.
    pub fn rouse(&mut self, index: usize, settled: Option<Instant>) -> bool {
        self.at_rest.remove(&(settled, Reverse(index)))
    }
}
