//! `End` and `Ends`: the destinations of a node in four bytes, since most nodes have none or one.
//!
//! ```text
//!  | queue, exchange or index (30) | 0: none, 1: a queue, 2: an exchange, 3: others (2) |
//! ```

use slab::Slab;

use crate::exchange::destination::{Destination, Destinations, ExchangeId};
use crate::queue::QueueId;
use crate::steps::Steps;

/// The destinations of a node: none, the destination of a single binding, or an index into the [`Ends`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct End(u32);

/// The destinations that do not fit into an `End`.
#[derive(Debug, Default)]
pub(super) struct Ends(Slab<Destinations>);

impl End {
    pub(super) const NONE: End = End(0);

    fn new(number: u32, kind: u32) -> Option<End> {
        (number < 1 << 30).then_some(End(number << 2 | kind))
    }

    fn of(destination: Destination) -> Option<End> {
        match destination {
            Destination::Queue(QueueId(number)) => End::new(number, 1),
            Destination::Exchange(ExchangeId(number)) => End::new(number, 2),
        }
    }
}

impl Ends {
    /// Appends the destinations, as [`Destinations::append_to`] does.
    pub(super) fn find(
        &self,
        End(end): End,
        found: &mut Vec<Destination>,
        left: &mut Option<usize>,
        steps: &mut Steps,
    ) -> bool {
        match (end & 3, end >> 2) {
            (0, _) => {}
            (1, number) => found.push(Destination::Queue(QueueId(number))),
            (2, number) => found.push(Destination::Exchange(ExchangeId(number))),
            (_, index) => return self.0[index as usize].append_to(found, left, steps),
        }
        true
    }

    /// A further binding leads from the end to the destination.
    pub(super) fn add(&mut self, end: &mut End, added: Destination) {
        match (end.0 & 3, End::of(added)) {
            (0, Some(one)) => *end = one,
            (3, _) => self.0[(end.0 >> 2) as usize].add(added),
            _ => {
                let mut all = Vec::new();
                self.find(*end, &mut all, &mut None, &mut Steps::unlimited());
                all.push(added);
                let mut destinations = Destinations::None;
                all.into_iter().for_each(|destination| destinations.add(destination));
                *end = End((self.0.insert(destinations) as u32) << 2 | 3);
            }
        }
    }

    /// Removes one binding from the end to the destination.
    pub(super) fn remove(&mut self, end: &mut End, removed: Destination) {
        if end.0 & 3 != 3 {
            if End::of(removed) == Some(*end) {
                *end = End::NONE;
            }
            return;
        }
        let index = (end.0 >> 2) as usize;
        self.0[index].remove(removed);
        if self.0[index].is_empty() {
            self.0.remove(index);
            *end = End::NONE;
        }
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}
