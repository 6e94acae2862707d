//! `Extent`: the messages of one queue in one segment, in the order of their sequences.
//!
//! A message takes no memory here in the usual case: the sequences rise by one, and messages are settled from the front.
//! The offset of each record is kept while the segment is written, and in the footer of the segment afterwards.

use std::ops::Range;

use super::record::{put_number, take_number};

/// Weight of a message beside its body, where a part of an extent is estimated.
const OVERHEAD: u64 = 64;
/// Messages in a word of settled bits.
const WORD_BITS: usize = 64;

/// Messages of an extent that is read from a checkpoint: more than a segment can have.
const DECODED_COUNT: usize = 1 << 28;

/// The messages of one queue in one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// Number of the segment.
    pub segment: u64,
    first: u64,
    count: usize,
    /// Distances of the sequences from the first. Empty: they rise by one.
    sparse: Vec<u32>,
    /// All messages before this index are settled.
    settled_prefix: usize,
    /// A bit for each settled message behind the prefix.
    settled: Vec<u64>,
    live_count: usize,
    /// Bytes of the bodies that are not settled.
    live_bytes: u64,
    /// Bytes of the file that the live messages take, as an estimate.
    live_share: u64,
    /// Offsets of the records in the segment, while it is written.
    offsets: Vec<u32>,
}

/// Sizes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageSizes {
    /// Bytes of the body.
    pub body: u64,
    /// Bytes of the record, divided by the number of queues that share it.
    pub share: u64,
}

impl Extent {
    /// An extent with one message.
    pub fn new(segment: u64, sequence: u64, offset: u32, sizes: MessageSizes) -> Extent {
        Extent {
            segment,
            first: sequence,
            count: 1,
            sparse: Vec::new(),
            settled_prefix: 0,
            settled: Vec::new(),
            live_count: 1,
            live_bytes: sizes.body,
            live_share: sizes.share,
            offsets: vec![offset],
        }
    }

    pub fn first(&self) -> u64 {
        self.first
    }

    pub fn last(&self) -> u64 {
        self.sequence_at(self.count - 1)
    }

    pub fn live_count(&self) -> usize {
        self.live_count
    }

    pub fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    pub fn live_share(&self) -> u64 {
        self.live_share
    }

    fn sequence_at(&self, index: usize) -> u64 {
        self.first + self.sparse.get(index).map_or(index as u64, |distance| u64::from(*distance))
    }

    /// Appends a message. Returns false if the message belongs into another extent.
    pub fn push(&mut self, segment: u64, sequence: u64, offset: u32, sizes: MessageSizes) -> bool {
        if segment != self.segment || sequence <= self.last() {
            return false;
        }
        let Ok(distance) = u32::try_from(sequence - self.first) else { return false };
        if self.sparse.is_empty() && distance as usize != self.count {
            self.sparse.extend(0..self.count as u32);
        }
        if !self.sparse.is_empty() {
            self.sparse.push(distance);
        }
        self.count += 1;
        self.live_count += 1;
        self.live_bytes += sizes.body;
        self.live_share += sizes.share;
        self.offsets.push(offset);
        true
    }

    /// The indices of the messages from `first` to `last`.
    fn indices(&self, first: u64, last: u64) -> Range<usize> {
        let place = |sequence: u64| match sequence.checked_sub(self.first) {
            None => 0,
            Some(distance) if self.sparse.is_empty() => (distance as usize).min(self.count),
            Some(distance) => self.sparse.partition_point(|other| u64::from(*other) < distance),
        };
        place(first)..place(last.saturating_add(1))
    }

    /// Returns true if the extent has a message with this sequence that is not settled.
    pub fn is_live(&self, sequence: u64) -> bool {
        self.indices(sequence, sequence).any(|index| !self.is_settled(index))
    }

    fn is_settled(&self, index: usize) -> bool {
        index < self.settled_prefix
            || self.settled.get(index / WORD_BITS).is_some_and(|word| word & (1 << (index % WORD_BITS)) != 0)
    }

    /// Settles the messages from `first` to `last`, each with a body of that size; `None`: the sizes are unknown. Returns the
    /// number of messages that were not settled.
    pub fn settle(&mut self, first: u64, last: u64, body_size: Option<u64>) -> usize {
        let range = self.indices(first, last);
        let range = range.start.max(self.settled_prefix)..range.end;
        if range.is_empty() {
            return 0;
        }
        let mut count = 0;
        if range.start == self.settled_prefix {
            count = range.len() - self.settled_within(range.clone());
            self.settled_prefix = range.end;
            while self.settled_prefix < self.count && self.is_settled(self.settled_prefix) {
                self.settled_prefix += 1;
            }
        } else {
            self.settled.resize(self.count.div_ceil(WORD_BITS), 0);
            for index in range {
                let (word, bit) = (&mut self.settled[index / WORD_BITS], 1 << (index % WORD_BITS));
                count += usize::from(*word & bit == 0);
                *word |= bit;
            }
        }
        if count == 0 {
            return 0;
        }
        let weight_before = self.weight();
        let settled_bytes = match body_size {
            Some(body_size) => body_size.saturating_mul(count as u64),
            None => self.live_bytes / self.live_count as u64 * count as u64,
        };
        self.live_count -= count;
        self.live_bytes =
            if self.live_count == 0 { 0 } else { self.live_bytes.saturating_sub(settled_bytes) };
        let share = u128::from(self.live_share) * u128::from(self.weight()) / u128::from(weight_before);
        self.live_share = share as u64;
        count
    }

    /// The measure by which settled messages take their part of the share. It is positive while a message is live.
    fn weight(&self) -> u64 {
        self.live_bytes.saturating_add(self.live_count as u64 * OVERHEAD)
    }

    fn settled_within(&self, range: Range<usize>) -> usize {
        if self.settled.is_empty() { 0 } else { range.filter(|index| self.is_settled(*index)).count() }
    }

    /// The sequences from `from` on that are not settled, each with the offset of its record if that is known.
    pub fn live(&self, from: u64) -> impl Iterator<Item = (u64, Option<u32>)> {
        let range = self.indices(from, u64::MAX);
        let indices =
            (range.start.max(self.settled_prefix)..range.end).filter(|index| !self.is_settled(*index));
        indices.map(|index| (self.sequence_at(index), self.offsets.get(index).copied()))
    }

    /// Forgets the offsets: the segment has a footer.
    pub fn seal(&mut self) {
        self.offsets = Vec::new();
    }

    /// Appends the extent without its offsets to a checkpoint.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let is_sparse = u64::from(!self.sparse.is_empty());
        for number in [self.segment, self.first, self.count as u64, self.settled_prefix as u64, is_sparse] {
            put_number(bytes, number);
        }
        let mut before = 0;
        for distance in &self.sparse {
            put_number(bytes, u64::from(distance - before));
            before = *distance;
        }
        // Words before the prefix say nothing.
        let words = &self.settled[(self.settled_prefix / WORD_BITS).min(self.settled.len())..];
        for number in [self.live_count as u64, self.live_bytes, self.live_share, words.len() as u64] {
            put_number(bytes, number);
        }
        words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    }

    /// Reads an extent of a checkpoint.
    pub fn decode(bytes: &mut &[u8]) -> Option<Extent> {
        let mut next = || take_number(bytes);
        let (segment, first, count) = (next()?, next()?, usize::try_from(next()?).ok()?);
        let (settled_prefix, is_sparse) = (usize::try_from(next()?).ok()?, next()? == 1);
        let mut sparse = Vec::new();
        let mut distance = 0_u32;
        for _ in 0..if is_sparse { count } else { 0 } {
            distance = distance.checked_add(next()?.try_into().ok()?)?;
            sparse.push(distance);
        }
        let (live_count, live_bytes, live_share) = (next()?, next()?, next()?);
        let word_count = next()?;
        let word_bytes = usize::try_from(word_count).ok()?.checked_mul(size_of::<u64>())?;
        let (words, rest) = bytes.split_at_checked(word_bytes)?;
        *bytes = rest;
        if !(1..=DECODED_COUNT).contains(&count) || settled_prefix > count {
            return None;
        }
        let mut settled = vec![0; if words.is_empty() { 0 } else { settled_prefix / WORD_BITS }];
        settled.extend(words.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)));
        let behind = settled.iter().enumerate().skip(settled_prefix / WORD_BITS);
        let settled_behind: usize = behind
            .map(|(index, word)| {
                let passed = settled_prefix.saturating_sub(index * WORD_BITS).min(WORD_BITS);
                word.checked_shr(passed as u32).unwrap_or(0).count_ones() as usize
            })
            .sum();
        let last_distance = sparse.last().map_or(count as u64, |distance| u64::from(*distance));
        let live_count = usize::try_from(live_count).ok()?;
        let is_sound = settled_prefix + settled_behind + live_count == count
            && settled.len() <= count.div_ceil(WORD_BITS)
            && first.checked_add(last_distance).is_some();
        is_sound.then_some(Extent {
            segment,
            first,
            count,
            sparse,
            settled_prefix,
            settled,
            live_count,
            live_bytes,
            live_share,
            offsets: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The extent, beside a map from each live sequence to its offset and size.
        #[test]
        fn an_extent_equals_a_map(
            first in 0..5_u64,
            gaps in vec(prop_oneof![4 => Just(1_u64), 1 => 2..70_u64], 0..200),
            settles in vec((0..400_u64, 0..40_u64), 0..60),
        ) {
            let mut model = BTreeMap::from([(first, (0, first * 3))]);
            let sizes = |body| MessageSizes { body, share: body + 9 };
            let mut extent = Extent::new(9, first, 0, sizes(first * 3));
            let mut sequence = first;
            for (gap, offset) in gaps.into_iter().zip(1..) {
                sequence += gap;
                prop_assert!(extent.push(9, sequence, offset, sizes(sequence * 3)));
                model.insert(sequence, (offset, sequence * 3));
            }
            prop_assert!(!extent.push(9, sequence, 0, sizes(0)) && !extent.push(8, sequence + 1, 0, sizes(0)));
            for (from, length) in settles {
                for one in from..=from + length {
                    let removed = model.remove(&one);
                    let count = extent.settle(one, one, Some(removed.map_or(0, |(_, size)| size)));
                    prop_assert_eq!(count, usize::from(removed.is_some()));
                    prop_assert!(!extent.is_live(one));
                }
                // Again, and as a range: nothing is left.
                prop_assert_eq!(extent.settle(from, from + length, Some(1)), 0);
                let live: Vec<_> = model.iter().map(|(sequence, (offset, _))| (*sequence, Some(*offset))).collect();
                prop_assert_eq!(extent.live(0).collect::<Vec<_>>(), live);
                prop_assert!(model.keys().all(|sequence| extent.is_live(*sequence)));
                prop_assert_eq!(extent.live_count(), model.len());
                prop_assert_eq!(extent.live_bytes(), model.values().map(|(_, size)| size).sum::<u64>());
                let mut bytes = Vec::new();
                extent.encode(&mut bytes);
                let mut rest = &bytes[..];
                let read = Extent::decode(&mut rest).unwrap();
                prop_assert!(rest.is_empty());
                let live: Vec<_> = model.keys().map(|sequence| (*sequence, None)).collect();
                prop_assert_eq!(read.live(0).collect::<Vec<_>>(), live);
                prop_assert_eq!(read.live_share(), extent.live_share());
            }
            prop_assert_eq!(extent.settle(0, u64::MAX, None), model.len());
            prop_assert_eq!((extent.live_count(), extent.live_bytes(), extent.live_share()), (0, 0, 0));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in vec(any::<u8>(), 0..60)) {
            let _ = Extent::decode(&mut &bytes[..]);
        }
    }
}
