//! Entries against a sorted map.

use std::collections::BTreeMap;

use hairstreak_testkit::Rng;

use super::*;
use crate::message::MessageId;

fn entry(sequence: u64) -> Entry {
    let (message, marks) = (MessageId(sequence as u32), Marks::default());
    Entry { sequence, expires_at: 0, message, return_count: 0, priority: 0, marks }
}

fn memory_of(entries: &Entries) -> usize {
    let capacity: usize = entries.rest.iter().map(VecDeque::capacity).sum();
    (capacity + entries.first.capacity()) * size_of::<Entry>()
}

/// Entries beside a map, and the memory that the calls reported.
#[derive(Default)]
struct Pair {
    entries: Entries,
    model: BTreeMap<u64, Entry>,
    memory: usize,
}

impl Pair {
    fn push(&mut self, sequence: u64) {
        self.memory += self.entries.push_back(entry(sequence));
        self.model.insert(sequence, entry(sequence));
    }

    fn insert(&mut self, sequence: u64) {
        self.memory += self.entries.insert(entry(sequence));
        self.model.insert(sequence, entry(sequence));
    }

    fn pop(&mut self) -> Option<u64> {
        let mut freed = 0;
        let popped = self.entries.pop_front(&mut freed);
        self.memory -= freed;
        assert_eq!(popped, self.model.pop_first().map(|(_, entry)| entry));
        popped.map(|entry| entry.sequence)
    }

    fn check(&self) {
        assert!(self.entries.iter().eq(self.model.values()));
        assert_eq!(self.entries.is_empty(), self.model.is_empty());
        assert_eq!(self.entries.count(), self.model.len());
        let count = self.model.len();
        for behind in [0, 1, count / 2, PAGE_LENGTH, count, count + 1] {
            assert!(self.entries.iter_behind(behind).eq(self.model.values().skip(behind)));
        }
        assert_eq!(self.memory, memory_of(&self.entries));
        assert!(self.entries.rest.iter().all(|page| !page.is_empty() && page.len() <= PAGE_LENGTH));
    }
}

#[test]
fn entries_that_return_find_their_places() {
    for seed in 0..20 {
        let mut rng = Rng::with_seed(seed);
        let mut pair = Pair::default();
        let (mut next, mut taken) = (0, Vec::new());
        for _ in 0..200 {
            match rng.u8(0..4) {
                0 | 1 => {
                    for _ in 0..rng.usize(0..1_500) {
                        pair.push(next);
                        next += 1;
                    }
                }
                2 => taken.extend((0..rng.usize(0..2_000)).filter_map(|_| pair.pop())),
                _ => {
                    for _ in 0..rng.usize(0..1_000).min(taken.len()) {
                        pair.insert(taken.swap_remove(rng.usize(0..taken.len())));
                    }
                }
            }
            pair.check();
        }
    }
}

#[test]
fn an_empty_list_keeps_little_memory() {
    let mut pair = Pair::default();
    (0..100_000).for_each(|sequence| pair.push(sequence));
    assert!(pair.memory >= 100_000 * size_of::<Entry>());
    assert!(pair.memory <= 25 * PAGE_LENGTH * size_of::<Entry>());
    while pair.pop().is_some() {}
    pair.check();
    assert!(pair.memory <= SPARE_LENGTH * size_of::<Entry>());
}

#[test]
fn a_full_page_is_split_where_an_entry_returns() {
    let mut pair = Pair::default();
    (0..3 * PAGE_LENGTH as u64).filter(|sequence| sequence % 3 != 1).for_each(|sequence| pair.push(sequence));
    (0..3 * PAGE_LENGTH as u64)
        .filter(|sequence| sequence % 3 == 1)
        .for_each(|sequence| pair.insert(sequence));
    pair.check();
    (0..3 * PAGE_LENGTH as u64).for_each(|sequence| assert_eq!(pair.pop(), Some(sequence)));
}
