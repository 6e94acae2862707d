//! `Window`: the states of a client's requests, by number, from the first open one.

use std::collections::VecDeque;

use super::workers::WorkerRef;

/// State of one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Slot {
    /// Nothing is known of the number.
    #[default]
    Unknown,
    /// The broker has the request, under this key.
    Open(usize),
    /// The reply waits until the client reads.
    Unread,
    /// This worker replied, or reports that it has the request. The worker may be gone.
    With(WorkerRef),
}

/// The slots of the numbers from `first` on.
///
/// The slots up to the last number that the client used are its own. Workers have reported the others.
#[derive(Debug)]
pub(super) struct Window {
    first: u64,
    slots: VecDeque<Slot>,
    /// End of the client's own numbers.
    own_end: u64,
}

/// Counts of slots in windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SlotCounts {
    /// Slots of numbers that the clients have used.
    pub own: usize,
    /// Slots of other numbers, which workers have reported.
    pub told: usize,
}

/// Result of a worker's report about one client.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Numbers that there was room for.
    pub count: usize,
    /// Keys of the open requests among them.
    pub open: Vec<usize>,
}

impl Window {
    pub fn new(first: u64) -> Window {
        Window { first, slots: VecDeque::new(), own_end: 0 }
    }

    /// Returns the number of slots.
    pub fn size(&self) -> usize {
        self.slots.len()
    }

    pub fn counts(&self) -> SlotCounts {
        let own = self.own_end.saturating_sub(self.first) as usize;
        SlotCounts { own, told: self.slots.len() - own }
    }

    /// Returns the number of own slots if this number is added. The caller checks the limit with `size_with`.
    pub fn own_with(&self, number: u64) -> usize {
        let end = self.own_end.max(number.saturating_add(1));
        usize::try_from(end.saturating_sub(self.first)).unwrap_or(usize::MAX)
    }

    /// Returns whether nothing is known of any number.
    pub fn is_blank(&self) -> bool {
        self.slots.iter().all(|slot| *slot == Slot::Unknown)
    }

    pub fn first(&self) -> u64 {
        self.first
    }

    pub fn get(&self, number: u64) -> Slot {
        let index = number.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.slots.get(index)).copied().unwrap_or_default()
    }

    /// Returns the number of slots if this number is added. `None`: the number is already forgotten.
    pub fn size_with(&self, number: u64) -> Option<usize> {
        let index = number.checked_sub(self.first)?;
        Some(usize::try_from(index).unwrap_or(usize::MAX).saturating_add(1).max(self.slots.len()))
    }

    /// Sets a number of the client's own. The caller has checked the room with `size_with`.
    pub fn set(&mut self, number: u64, slot: Slot) {
        let Some(index) = number.checked_sub(self.first).map(|index| index as usize) else { return };
        if index >= self.slots.len() {
            if slot == Slot::Unknown {
                return;
            }
            self.slots.resize(index + 1, Slot::Unknown);
        }
        self.slots[index] = slot;
        self.own_end = self.own_end.max(number.saturating_add(1));
    }

    /// Notes that a worker has the numbers from `first` to `last`. Numbers beyond `size_max` slots are ignored at no
    /// cost.
    pub fn tell(&mut self, first: u64, last: u64, worker: WorkerRef, size_max: usize) -> Told {
        let size_max = size_max.max(self.slots.len()) as u64;
        let end = last.checked_sub(self.first).map_or(0, |offset| offset.saturating_add(1));
        let end = end.min(size_max) as usize;
        let start = first.saturating_sub(self.first).min(end as u64) as usize;
        let mut told = Told { count: end - start, open: Vec::new() };
        if told.count == 0 {
            return told;
        }
        if end > self.slots.len() {
            self.slots.resize(end, Slot::Unknown);
        }
        for slot in self.slots.range_mut(start..end) {
            match slot {
                Slot::Open(key) => told.open.push(*key),
                // Several workers may have the request. The last worker to report is the most likely to live.
                Slot::With(_) | Slot::Unknown => *slot = Slot::With(worker),
                Slot::Unread => {}
            }
        }
        told
    }

    /// Returns the number after the last slot.
    pub fn end(&self) -> u64 {
        self.first.saturating_add(self.slots.len() as u64)
    }

    /// Returns the number of slots if the window began at `first`, before its current start.
    pub fn size_from(&self, first: u64) -> usize {
        usize::try_from(self.first.saturating_sub(first))
            .unwrap_or(usize::MAX)
            .saturating_add(self.slots.len())
    }

    /// Extends the window to begin at `first`, if it begins later. If the window would have more than `size_max` slots,
    /// its slots are dropped: the new start has priority.
    pub fn begin_at(&mut self, first: u64, size_max: usize) {
        if first >= self.first {
            return;
        }
        if self.size_from(first) <= size_max {
            (first..self.first).for_each(|_| self.slots.push_front(Slot::Unknown));
        } else {
            self.slots.clear();
            self.own_end = 0;
        }
        self.first = first;
    }

    /// Drops the slots below `first`. `ended` is called with the keys of the open requests among them.
    pub fn advance(&mut self, first: u64, mut ended: impl FnMut(usize)) {
        while self.first < first {
            match self.slots.pop_front() {
                Some(Slot::Open(key)) => ended(key),
                Some(_) => {}
                None => {
                    self.first = first;
                    return;
                }
            }
            self.first += 1;
        }
    }

    /// Drops unknown slots at the front. Used for a client that does not send its first number.
    pub fn advance_to_known(&mut self) {
        while let Some(Slot::Unknown) = self.slots.front() {
            self.slots.pop_front();
            self.first += 1;
        }
    }

    /// Returns the keys of the open requests.
    pub fn open(&self) -> impl Iterator<Item = usize> + '_ {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Open(key) => Some(*key),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_below_the_first_are_forgotten_and_what_was_open_there_is_told() {
        let mut window = Window::new(5);
        assert_eq!((window.size_with(4), window.size_with(5), window.size_with(9)), (None, Some(1), Some(5)));
        window.set(5, Slot::Open(50));
        window.set(8, Slot::Open(80));
        assert_eq!(
            (window.get(4), window.get(6), window.get(8)),
            (Slot::Unknown, Slot::Unknown, Slot::Open(80))
        );
        let mut ended = Vec::new();
        window.advance(8, |key| ended.push(key));
        assert_eq!((ended, window.first(), window.size()), (vec![50], 8, 1));
        window.set(8, Slot::Unknown);
        window.set(9, Slot::Open(90));
        window.advance_to_known();
        assert_eq!((window.first(), window.open().collect::<Vec<_>>()), (9, vec![90]));
        window.advance(u64::MAX, |_| {});
        assert_eq!((window.first(), window.size()), (u64::MAX, 0));
    }
}
