//! `Window`: what became of a client's requests, by number, from the first that is open.

use std::collections::VecDeque;

use super::workers::WorkerRef;

/// What became of one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Slot {
    /// Nothing is known of it.
    #[default]
    Unknown,
    /// It is the broker's, under this key.
    Open(usize),
    /// Its reply waits until the client reads.
    Unread,
    /// This worker replied, or says that it has it. It may be gone.
    With(WorkerRef),
}

/// The slots of the numbers from `first` on.
#[derive(Debug)]
pub(super) struct Window {
    first: u64,
    slots: VecDeque<Slot>,
}

impl Window {
    pub fn new(first: u64) -> Window {
        Window { first, slots: VecDeque::new() }
    }

    /// How many slots it has.
    pub fn size(&self) -> usize {
        self.slots.len()
    }

    /// Whether nothing is known of any number.
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

    /// How many slots it would have with this number among them, if that is none it has forgotten.
    pub fn size_with(&self, number: u64) -> Option<usize> {
        let index = number.checked_sub(self.first)?;
        Some(usize::try_from(index).unwrap_or(usize::MAX).saturating_add(1).max(self.slots.len()))
    }

    /// `size_with` said that there is room.
    pub fn set(&mut self, number: u64, slot: Slot) {
        let Some(index) = number.checked_sub(self.first).map(|index| index as usize) else { return };
        if index >= self.slots.len() {
            if slot == Slot::Unknown {
                return;
            }
            self.slots.resize(index + 1, Slot::Unknown);
        }
        self.slots[index] = slot;
    }

    /// The number behind the last slot.
    pub fn end(&self) -> u64 {
        self.first.saturating_add(self.slots.len() as u64)
    }

    /// How many slots it would have if it began there, before where it does.
    pub fn size_from(&self, first: u64) -> usize {
        usize::try_from(self.first.saturating_sub(first))
            .unwrap_or(usize::MAX)
            .saturating_add(self.slots.len())
    }

    /// Has slots from `first` on, if it began behind it. Where it would have more than so many it forgets all it has: `first` is
    /// what counts.
    pub fn begin_at(&mut self, first: u64, size_max: usize) {
        if first >= self.first {
            return;
        }
        if self.size_from(first) <= size_max {
            (first..self.first).for_each(|_| self.slots.push_front(Slot::Unknown));
        } else {
            self.slots.clear();
        }
        self.first = first;
    }

    /// Forgets what is below `first`. `ended` is called with the keys of what was still open there.
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

    /// Forgets the front as far as nothing is known there: for a client that does not say itself which is its first.
    pub fn advance_to_known(&mut self) {
        while let Some(Slot::Unknown) = self.slots.front() {
            self.slots.pop_front();
            self.first += 1;
        }
    }

    /// The keys of what is open.
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
