//! `Ranges`: a set of numbers stored as ranges, for numbers that arrive nearly in order.
//!
//! Invariants: the ranges ascend, are not empty, and do not touch; `count` is the number of their numbers.

use std::collections::VecDeque;
use std::ops::Range;

/// A set of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    ranges: VecDeque<Range<u64>>,
    /// Number of numbers in the set.
    count: u64,
}

impl Ranges {
    /// Creates an empty set.
    pub fn new() -> Ranges {
        Ranges::default()
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the lowest number.
    pub fn first(&self) -> Option<u64> {
        self.ranges.front().map(|range| range.start)
    }

    /// Returns the number of ranges, which determines the cost of the set.
    pub fn range_count(&self) -> usize {
        self.ranges.len()
    }

    /// Returns the number of numbers.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the ranges, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ranges.iter().cloned()
    }

    /// Returns whether the set contains the number.
    pub fn contains(&self, number: u64) -> bool {
        self.ranges.get(self.after(number)).is_some_and(|range| range.start <= number)
    }

    /// Returns the first number of `range` in the set.
    pub fn first_of(&self, range: Range<u64>) -> Option<u64> {
        let found = self.ranges.get(self.after(range.start))?;
        (found.start < range.end && !range.is_empty()).then(|| found.start.max(range.start))
    }

    /// Adds the numbers of `range`. If the set contains one of them already, adds none and returns false.
    pub fn insert(&mut self, range: Range<u64>) -> bool {
        if range.is_empty() {
            return true;
        }
        let count = range.end - range.start;
        match self.ranges.back_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            Some(last) if last.end > range.start => {
                if !self.insert_between(range) {
                    return false;
                }
            }
            _ => self.ranges.push_back(range),
        }
        self.count += count;
        true
    }

    fn insert_between(&mut self, range: Range<u64>) -> bool {
        let at = self.after(range.start);
        if self.ranges.get(at).is_some_and(|next| next.start < range.end) {
            return false;
        }
        let joins_next = self.ranges.get(at).is_some_and(|next| next.start == range.end);
        let joins_last = at > 0 && self.ranges[at - 1].end == range.start;
        match (joins_last, joins_next) {
            (true, true) => {
                self.ranges[at - 1].end = self.ranges[at].end;
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at - 1].end = range.end,
            (false, true) => self.ranges[at].start = range.start,
            (false, false) => self.ranges.insert(at, range),
        }
        true
    }

    /// Removes all numbers below `end`.
    pub fn remove_below(&mut self, end: u64) {
        while let Some(first) = self.ranges.front_mut() {
            if first.end > end {
                self.count -= end.saturating_sub(first.start);
                first.start = first.start.max(end);
                return;
            }
            self.count -= first.end - first.start;
            self.ranges.pop_front();
        }
    }

    /// Removes the numbers of `range`.
    pub fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let mut at = self.after(range.start);
        while let Some(found) = self.ranges.get(at).filter(|found| found.start < range.end).cloned() {
            self.ranges.remove(at);
            self.count -= found.end.min(range.end) - found.start.max(range.start);
            if found.end > range.end {
                self.ranges.insert(at, range.end..found.end);
            }
            if found.start < range.start {
                self.ranges.insert(at, found.start..range.start);
                at += 1;
            }
        }
    }

    /// Returns the last number of the range that contains `number`.
    pub fn last_from(&self, number: u64) -> Option<u64> {
        let found = self.ranges.get(self.after(number))?;
        (found.start <= number).then(|| found.end - 1)
    }

    /// Removes the range that begins with `number`, and returns it.
    pub fn take_from(&mut self, number: u64) -> Option<Range<u64>> {
        let taken = self.ranges.pop_front_if(|range| range.start == number)?;
        self.count -= taken.end - taken.start;
        Some(taken)
    }

    /// Returns the ranges of the numbers of `range` that are not in the set, ascending.
    pub fn missing_in(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut at = range.start;
        let mut next = self.after(range.start);
        std::iter::from_fn(move || {
            while at < range.end {
                let found = self.ranges.get(next).cloned().unwrap_or(range.end..range.end);
                let gap = at..found.start.min(range.end);
                at = found.end.max(gap.end);
                next += 1;
                if !gap.is_empty() {
                    return Some(gap);
                }
            }
            None
        })
    }

    /// Returns the index of the first range that ends behind `number`.
    fn after(&self, number: u64) -> usize {
        self.ranges.partition_point(|range| range.end <= number)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_set_that_it_stands_for(steps in prop::collection::vec((0..60u64, 0..9u64, 0..8u8), 0..60)) {
            let (mut ranges, mut model) = (Ranges::new(), BTreeSet::new());
            for (start, size, action) in steps {
                let range = start..start + size;
                match action {
                    0 => {
                        ranges.remove_below(start);
                        model.retain(|number| *number >= start);
                    }
                    1 => {
                        let taken = ranges.take_from(start);
                        prop_assert_eq!(taken.is_some(), model.first() == Some(&start));
                        taken.into_iter().flatten().for_each(|number| { model.remove(&number); });
                    }
                    2 => {
                        ranges.remove(range.clone());
                        model.retain(|number| !range.contains(number));
                    }
                    _ => {
                        let is_new = range.clone().all(|number| !model.contains(&number));
                        prop_assert_eq!(ranges.insert(range.clone()), is_new);
                        if is_new {
                            model.extend(range.clone());
                        }
                    }
                }
                prop_assert_eq!(ranges.iter().flatten().collect::<Vec<_>>(), model.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!(ranges.count(), model.len() as u64);
                let all = ranges.iter().collect::<Vec<_>>();
                prop_assert!(all.windows(2).all(|pair| pair[0].end < pair[1].start));
                prop_assert_eq!(ranges.contains(start), model.contains(&start));
                let last = (start..).take_while(|number| model.contains(number)).last();
                prop_assert_eq!(ranges.last_from(start), last);
                prop_assert_eq!(ranges.first_of(range.clone()), model.range(range.clone()).next().copied());
                let missing = ranges.missing_in(range.clone()).flatten().collect::<Vec<_>>();
                prop_assert_eq!(missing, range.filter(|number| !model.contains(number)).collect::<Vec<_>>());
            }
        }
    }
}
