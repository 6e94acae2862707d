//! `Changes`: the changes of one object's counters, in a few bytes for each sampling at which they changed.
//!
//! An entry is a row of integers in MessagePack. A sampling at which nothing changed has no entry.
//!
//! ```text
//!   | rounds since the entry before | the counters that changed, a bit each | the difference of each, by counter |
//!   | 1 byte                        | 1 to 3 bytes                          | 1 to 9 bytes                       |
//! ```

use rmp::decode::read_int;
use rmp::encode::write_sint;

/// Bytes of the longest integer.
const LONGEST_INTEGER: usize = 9;

/// The changes of an object with up to 32 counters, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    bytes: Vec<u8>,
    /// The round that the first entry counts from.
    base: u32,
    /// The round of the last entry, or `base` without one.
    last: u32,
}

/// The counters that changed at one round.
struct Entry<'a> {
    round: u32,
    counters: u32,
    differences: &'a [u8],
    rest: &'a [u8],
}

impl Changes {
    /// Bytes on the heap.
    pub(super) fn size(&self) -> usize {
        self.bytes.capacity()
    }

    /// Adds the changes of a round, which is later than those before.
    pub(super) fn add(&mut self, round: u32, before: &[u64], after: &[u64]) {
        let counters = bits(before, after);
        if counters == 0 {
            return;
        }
        if self.bytes.is_empty() {
            self.base = round.wrapping_sub(1);
            self.last = self.base;
        }
        self.put(i64::from(round.wrapping_sub(self.last)));
        self.put(i64::from(counters));
        for (before, after) in before.iter().zip(after).filter(|(before, after)| before != after) {
            self.put(after.wrapping_sub(*before) as i64);
        }
        self.last = round;
    }

    fn put(&mut self, integer: i64) {
        // A vector would double.
        if self.bytes.capacity() - self.bytes.len() < LONGEST_INTEGER {
            self.bytes.reserve_exact(LONGEST_INTEGER.max(self.bytes.len() / 4));
        }
        // A vector takes any number of bytes, so that an error cannot come.
        let _ = write_sint(&mut self.bytes, integer);
    }

    /// Forgets the changes up to a round, that round included.
    pub(super) fn forget(&mut self, round: u32) {
        let mut begin = 0;
        while let Some(entry) = read(&self.bytes[begin..], self.base)
            && round.wrapping_sub(entry.round) as i32 >= 0
        {
            begin = self.bytes.len() - entry.rest.len();
            self.base = entry.round;
        }
        self.bytes.drain(..begin);
        if self.bytes.capacity() > 4 * self.bytes.len() {
            self.bytes.shrink_to_fit();
        }
    }

    /// The rounds at which a counter changed, and the difference of each, the oldest first.
    pub(super) fn of(&self, counter: usize) -> Vec<(u32, i64)> {
        let mut found = Vec::new();
        let (mut bytes, mut base) = (&*self.bytes, self.base);
        while let Some(entry) = read(bytes, base) {
            found.extend(entry.difference(counter).map(|difference| (entry.round, difference)));
            (bytes, base) = (entry.rest, entry.round);
        }
        found
    }
}

impl Entry<'_> {
    fn difference(&self, counter: usize) -> Option<i64> {
        let bit = 1_u32 << counter;
        let index = (self.counters & (bit - 1)).count_ones() as usize;
        let mut bytes = self.differences;
        let mut differences = std::iter::from_fn(|| read_int(&mut bytes).ok());
        if self.counters & bit == 0 { None } else { differences.nth(index) }
    }
}

/// A bit for each counter that changed.
fn bits(before: &[u64], after: &[u64]) -> u32 {
    let pairs = before.iter().zip(after).enumerate();
    pairs.fold(0, |bits, (index, (before, after))| bits | (u32::from(before != after) << index))
}

/// The first entry of some bytes. `None`: there are none.
fn read(mut bytes: &[u8], base: u32) -> Option<Entry<'_>> {
    let rounds: u32 = read_int(&mut bytes).ok()?;
    let counters: u32 = read_int(&mut bytes).ok()?;
    let differences = bytes;
    for _ in 0..counters.count_ones() {
        read_int::<i64, _>(&mut bytes).ok()?;
    }
    Some(Entry { round: base.wrapping_add(rounds), counters, differences, rest: bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes by round: each row is the round and the values of three counters then. The counters were 0 before.
    fn changes(rows: &[(u32, [u64; 3])]) -> Changes {
        let (mut changes, mut before) = (Changes::default(), [0; 3]);
        for (round, values) in rows {
            changes.add(*round, &before, values);
            before = *values;
        }
        changes
    }

    #[test]
    fn each_change_of_a_counter_is_found() {
        let far = u64::from(u32::MAX) * 5;
        let changes = changes(&[
            (7, [1, 0, 0]),
            (8, [1, 0, 0]),
            (9, [200, 0, far]),
            (500, [100, 70_000, far]),
            (501, [100, 70_000, 0]),
        ]);
        assert_eq!(changes.of(0), [(7, 1), (9, 199), (500, -100)]);
        assert_eq!(changes.of(1), [(500, 70_000)]);
        assert_eq!(changes.of(2), [(9, far as i64), (501, -(far as i64))]);
    }

    #[test]
    fn old_changes_are_forgotten() {
        let rows: Vec<_> = (1..=300).map(|round| (round, [u64::from(round) * 1000, 5, 0])).collect();
        let mut changes = changes(&rows);
        let size = changes.bytes.len();
        changes.forget(0);
        assert_eq!((changes.bytes.len(), changes.of(1)), (size, vec![(1, 5)]));
        changes.forget(250);
        assert_eq!(changes.of(0), (251..=300).map(|round| (round, 1000)).collect::<Vec<_>>());
        assert!(changes.size() < 50 * 8, "{}", changes.size());
        changes.forget(300);
        assert_eq!((changes.of(0), changes.size()), (vec![], 0));
        changes.add(1000, &[0], &[3]);
        assert_eq!(changes.of(0), [(1000, 3)]);
    }

    #[test]
    fn rounds_and_counters_may_wrap_around() {
        let mut changes = Changes::default();
        changes.add(u32::MAX, &[0], &[u64::MAX]);
        changes.add(1, &[u64::MAX], &[4]);
        assert_eq!(changes.of(0), [(u32::MAX, -1), (1, 5)]);
        changes.forget(u32::MAX);
        assert_eq!(changes.of(0), [(1, 5)]);
    }
}
