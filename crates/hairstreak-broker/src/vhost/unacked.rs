//! `UnackedRing`: the unsettled deliveries of a channel, by delivery tag.
//!
//! Tags rise by one. The place of a tag follows from the first tag as long as no delivery without acknowledgement came between. A
//! settled delivery in the middle leaves a gap. It is removed when it comes to the front, or with all others when half of the
//! ring is gaps.
//!
//! Invariants: the tags rise strictly; the first delivery is no gap.
//!
//! - `Settlement`: the outcome of deliveries, as their consumers say.

use std::collections::VecDeque;

use super::outbox::ConsumerId;
use crate::message::MessageId;
use crate::queue::{Entry, QueueId};

/// Room that an empty ring may keep.
const SPARE_LENGTH: usize = 256;
/// A ring shorter than this keeps its gaps.
const GAPPED_LENGTH: usize = 64;
/// Maximum number of deliveries that are taken at once.
const RUN_LENGTH: usize = 256;

/// The queue of a gap.
const GAP: QueueId = QueueId(u32::MAX);
/// The consumer of a message that `basic.get` took.
const NO_CONSUMER: ConsumerId = ConsumerId(u32::MAX);

/// A message that is delivered and not settled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unacked {
    pub(super) entry: Entry,
    tag: u64,
    pub(super) queue: QueueId,
    consumer: ConsumerId,
}

const _: () = assert!(size_of::<Unacked>() == 40);

impl Unacked {
    /// `consumer` is `None` for a message that `basic.get` takes.
    #[inline]
    pub(super) fn new(tag: u64, queue: QueueId, consumer: Option<ConsumerId>, entry: Entry) -> Unacked {
        Unacked { entry, tag, queue, consumer: consumer.unwrap_or(NO_CONSUMER) }
    }

    /// The consumer that has the message.
    #[inline]
    pub(super) fn consumer(&self) -> Option<ConsumerId> {
        (self.consumer != NO_CONSUMER).then_some(self.consumer)
    }

    #[inline]
    fn is_gap(&self) -> bool {
        self.queue == GAP
    }
}

/// The unsettled deliveries of a channel.
#[derive(Debug, Default)]
pub(super) struct UnackedRing {
    ring: VecDeque<Unacked>,
    gap_count: usize,
}

impl UnackedRing {
    /// The number of deliveries.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.ring.len() - self.gap_count
    }

    /// The memory of the ring, in bytes.
    #[inline]
    pub(super) fn memory_bytes(&self) -> usize {
        self.ring.capacity() * size_of::<Unacked>()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Unacked> {
        self.ring.iter().filter(|unacked| !unacked.is_gap())
    }

    /// Adds a delivery with the highest tag.
    #[inline]
    pub(super) fn push(&mut self, unacked: Unacked) {
        self.ring.push_back(unacked);
    }

    /// Puts deliveries back that were taken. Returns how many the ring had to move for that.
    pub(super) fn put_back(&mut self, mut taken: Vec<Unacked>) -> usize {
        taken.retain(|unacked| !self.fill_gap(*unacked));
        taken.sort_unstable_by_key(|unacked| unacked.tag);
        let Some(last) = taken.last() else { return 0 };
        if self.ring.front().is_none_or(|first| last.tag < first.tag) {
            taken.into_iter().rev().for_each(|unacked| self.ring.push_front(unacked));
            return 0;
        }
        // One pass for all: each insertion by itself would move a part of the ring.
        let count = taken.len() + self.ring.len();
        let mut taken = taken.into_iter().peekable();
        let mut merged = VecDeque::with_capacity(count);
        for unacked in self.ring.drain(..).filter(|unacked| !unacked.is_gap()) {
            while let Some(earlier) = taken.next_if(|earlier| earlier.tag < unacked.tag) {
                merged.push_back(earlier);
            }
            merged.push_back(unacked);
        }
        merged.extend(taken);
        (self.ring, self.gap_count) = (merged, 0);
        count
    }

    /// Puts a delivery back into its gap. Returns false if the gap was removed.
    fn fill_gap(&mut self, unacked: Unacked) -> bool {
        let place = self.ring.binary_search_by_key(&unacked.tag, |other| other.tag);
        if let Ok(place) = place {
            self.ring[place] = unacked;
            self.gap_count -= 1;
        }
        place.is_ok()
    }

    fn place_of(&self, tag: u64) -> Option<usize> {
        let first = self.ring.front()?;
        let guess = tag.checked_sub(first.tag)? as usize;
        let place = match self.ring.get(guess) {
            Some(unacked) if unacked.tag == tag => guess,
            _ => self.ring.binary_search_by_key(&tag, |unacked| unacked.tag).ok()?,
        };
        (!self.ring[place].is_gap()).then_some(place)
    }

    /// Returns true if a delivery with that tag awaits settlement.
    pub(super) fn contains(&self, tag: u64) -> bool {
        self.place_of(tag).is_some()
    }

    /// Takes the delivery with that tag.
    #[inline]
    pub(super) fn take(&mut self, tag: u64) -> Option<Unacked> {
        let place = self.place_of(tag)?;
        let unacked = self.ring[place];
        self.ring[place].queue = GAP;
        self.gap_count += 1;
        if place == 0 {
            self.trim();
        } else if self.gap_count > self.ring.len() / 2 && self.ring.len() > GAPPED_LENGTH {
            self.ring.retain(|unacked| !unacked.is_gap());
            self.gap_count = 0;
            self.ring.shrink_to(self.ring.len() * 2);
        }
        Some(unacked)
    }

    /// The first delivery, if its tag is at most `last`.
    #[inline]
    fn first_up_to(&self, last: u64) -> Option<Unacked> {
        self.ring.front().copied().filter(|first| first.tag <= last)
    }

    /// Takes the first delivery if its tag is at most `last`.
    #[inline]
    pub(super) fn take_first(&mut self, last: u64) -> Option<Unacked> {
        let first = self.first_up_to(last)?;
        self.ring.pop_front();
        self.trim();
        Some(first)
    }

    /// Returns the first delivery, and the number of deliveries at the front with its queue and its consumer and with tags of at
    /// most `last`.
    #[inline]
    fn count_first_run(&self, last: u64) -> Option<(Unacked, usize)> {
        let first = self.first_up_to(last)?;
        let is_like_first = |other: &Unacked| {
            other.tag <= last && other.queue == first.queue && other.consumer == first.consumer
        };
        let mut count = 0;
        // The compiler does not inline `take_while` here. A loop takes fewer instructions for each delivery.
        for other in self.ring.iter().take(RUN_LENGTH) {
            if !is_like_first(other) {
                break;
            }
            count += 1;
        }
        Some((first, count))
    }

    /// The deliveries that [`UnackedRing::take_first_run`] takes.
    pub(super) fn first_run(&self, last: u64) -> impl Iterator<Item = &Unacked> {
        let count = self.count_first_run(last).map_or(0, |(_, count)| count);
        self.ring.range(..count)
    }

    /// Takes the first deliveries out, as far as their tags are at most `last` and they are of one queue and one consumer. Their
    /// messages replace the content of `messages`.
    #[inline]
    pub(super) fn take_first_run(
        &mut self,
        last: u64,
        messages: &mut Vec<MessageId>,
    ) -> Option<(QueueId, Option<ConsumerId>)> {
        messages.clear();
        let (first, count) = self.count_first_run(last)?;
        // `Vec::extend` trusts the length of a range and grows once. The length of a drain is not trusted.
        messages.extend(self.ring.range(..count).map(|unacked| unacked.entry.message));
        self.ring.drain(..count);
        self.trim();
        Some((first.queue, first.consumer()))
    }

    /// Returns true if one more delivery takes no memory.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.ring.len() < self.ring.capacity()
    }

    /// Takes the gaps at the front away.
    #[inline]
    fn trim(&mut self) {
        while self.ring.front().is_some_and(|first| first.is_gap()) {
            self.ring.pop_front();
            self.gap_count -= 1;
        }
        if self.ring.is_empty() && self.ring.capacity() > SPARE_LENGTH {
            self.ring = VecDeque::new();
        }
    }
}

/// The outcome of deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// The consumer has dealt with them.
    Ack,
    /// The consumer has not: they return to their places, or are dead-lettered.
    Reject {
        /// They return.
        requeue: bool,
    },
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::queue::{Marks, NEVER};

    const COUNT: u64 = 300;

    fn unacked(tag: u64) -> Unacked {
        let entry = Entry {
            sequence: tag,
            expires_at: NEVER,
            message: MessageId(0),
            return_count: 0,
            priority: 0,
            marks: Marks::default(),
        };
        Unacked::new(tag, QueueId(0), None, entry)
    }

    proptest! {
        #[test]
        fn deliveries_that_are_put_back_have_their_places_whatever_was_taken(
            first_count in 0..=COUNT,
            singles in vec(1..=COUNT, 0..2 * COUNT as usize),
        ) {
            let mut ring = UnackedRing::default();
            (1..=COUNT).for_each(|tag| ring.push(unacked(tag)));
            let mut taken: Vec<_> = std::iter::from_fn(|| ring.take_first(first_count)).collect();
            taken.extend(singles.into_iter().filter_map(|tag| ring.take(tag)));
            ring.put_back(taken);
            let tags: Vec<_> = ring.iter().map(|unacked| unacked.tag).collect();
            prop_assert!(tags.into_iter().eq(1..=COUNT));
            prop_assert_eq!(ring.count(), COUNT as usize);
            prop_assert!((1..=COUNT).all(|tag| ring.contains(tag)));
        }
    }
}
