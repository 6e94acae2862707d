//! `SharedCards`: cards in shared memory, without a network. A word arrives as soon as it is sent.
//!
//! ```text
//!   ranks that have come to the barrier | barriers passed | cards that were replaced | incarnations | last barriers | card 0 | card 1 | ...
//!   a card: memory | 64 counters | for each other card: words taken, words sent, words sent by its predecessors, and the words between
//! ```
//!
//! Barriers have numbers, from 1 on. The last barrier of a rank is the last one that a card of this rank has come to.
//!
//! A word is written before the counter that it counts down (release), and read after the counter (acquire).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::cell::{COUNTER_COUNT, Counter};
use super::limits::{CardLimits, LimitsError};
use super::vic::{PutWord, Query, Vic};

/// Words in front of the incarnations.
const HEAD_WORDS: usize = 3;
const ARRIVED: usize = 0;
const PASSED: usize = 1;
const REPLACED: usize = 2;
/// Words in front of the words of a FIFO.
const FIFO_HEAD_WORDS: usize = 3;

/// The memory of all cards. Every thread or process that runs a card reaches all words.
#[derive(Clone)]
pub struct SharedCards<M> {
    region: M,
    size: u32,
    limits: CardLimits,
}

/// A card of [`SharedCards`].
#[derive(Debug)]
pub struct SharedCard<M> {
    cards: SharedCards<M>,
    rank: u32,
    /// The card whose words the next look begins with.
    next_source: u32,
    /// The incarnations that the program knows, and the number of cards that had been replaced then.
    known: Vec<u64>,
    known_count: u64,
    /// The number of barriers that the program knows to be passed.
    known_barriers: AtomicU64,
}

/// The words of one card in the FIFO of another.
struct Fifo<'a> {
    taken: &'a AtomicU64,
    sent: &'a AtomicU64,
    /// Words that predecessors of the sender had sent.
    sent_before: &'a AtomicU64,
    words: &'a [AtomicU64],
}

impl SharedCards<Arc<[AtomicU64]>> {
    /// Cards of this process.
    ///
    /// ```
    /// use hairstreak_fabric::card::{CardLimits, SharedCards, Vic};
    ///
    /// let cards = SharedCards::in_process(4, CardLimits::default())?;
    /// let (mut one, mut two) = (cards.card(1), cards.card(2));
    /// assert!(one.surprise(2, 99));
    /// assert_eq!(two.take_surprise(), Some((1, 99)));
    /// # Ok::<(), hairstreak_fabric::card::LimitsError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The sizes cannot be.
    pub fn in_process(size: u32, limits: CardLimits) -> Result<Self, LimitsError> {
        limits.check(size)?;
        let region = (0..SharedCards::<&[AtomicU64]>::region_words(size, limits)).map(|_| AtomicU64::new(0));
        SharedCards::new(region.collect(), size, limits)
    }
}

impl<M: AsRef<[AtomicU64]> + Clone> SharedCards<M> {
    /// Words that the cards need. The sizes are valid.
    pub fn region_words(size: u32, limits: CardLimits) -> usize {
        head_words(size) + size as usize * card_words(size, limits)
    }

    /// Cards in `region`, which is zero when the first of them comes.
    ///
    /// # Errors
    ///
    /// The sizes cannot be, or the region has another size ([`LimitsError::Region`]).
    pub fn new(region: M, size: u32, limits: CardLimits) -> Result<SharedCards<M>, LimitsError> {
        limits.check(size)?;
        let (words, needed) = (region.as_ref().len(), Self::region_words(size, limits));
        if words != needed {
            return Err(LimitsError::Region { words, needed });
        }
        Ok(SharedCards { region, size, limits })
    }

    /// Replaces the card of a rank that is gone: the next card of the rank is a new one. The caller makes sure that the
    /// old card no longer runs.
    ///
    /// # Panics
    ///
    /// There is no such rank.
    pub fn replace(&self, rank: u32) {
        self.check_rank(rank);
        for other in 0..self.size {
            let (coming, going) = (self.fifo(rank, other), self.fifo(other, rank));
            coming.taken.store(coming.sent.load(Ordering::Acquire), Ordering::Release);
            going.sent_before.store(going.sent.load(Ordering::Acquire), Ordering::Release);
        }
        let own = self.of(rank);
        let zeroed = self.limits.memory_words as usize + COUNTER_COUNT;
        own[..zeroed].iter().for_each(|word| word.store(0, Ordering::Release));
        self.incarnation(rank).fetch_add(1, Ordering::AcqRel);
        self.words()[REPLACED].fetch_add(1, Ordering::Release);
    }

    /// Returns the card of a rank. The caller makes sure that no other thread or process runs a card of this rank.
    ///
    /// # Panics
    ///
    /// There is no such rank.
    pub fn card(&self, rank: u32) -> SharedCard<M> {
        self.check_rank(rank);
        let known_count = self.words()[REPLACED].load(Ordering::Acquire);
        let known = (0..self.size).map(|other| self.incarnation(other).load(Ordering::Acquire)).collect();
        let known_barriers = AtomicU64::new(self.words()[PASSED].load(Ordering::Acquire));
        SharedCard { cards: self.clone(), rank, next_source: 0, known, known_count, known_barriers }
    }

    fn words(&self) -> &[AtomicU64] {
        self.region.as_ref()
    }

    /// The words of a card.
    fn of(&self, rank: u32) -> &[AtomicU64] {
        let words = card_words(self.size, self.limits);
        &self.words()[head_words(self.size) + rank as usize * words..][..words]
    }

    fn memory(&self, rank: u32) -> &[AtomicU64] {
        &self.of(rank)[..self.limits.memory_words as usize]
    }

    fn counter(&self, rank: u32, counter: Counter) -> &AtomicU64 {
        &self.of(rank)[self.limits.memory_words as usize + counter.index()]
    }

    fn incarnation(&self, rank: u32) -> &AtomicU64 {
        &self.words()[HEAD_WORDS + rank as usize]
    }

    /// The last barrier that a card of this rank has come to.
    fn last_barrier(&self, rank: u32) -> &AtomicU64 {
        &self.words()[HEAD_WORDS + self.size as usize + rank as usize]
    }

    /// The words of card `from` in the FIFO of card `rank`.
    fn fifo(&self, rank: u32, from: u32) -> Fifo<'_> {
        let words = FIFO_HEAD_WORDS + self.limits.fifo_share as usize;
        let fifos = self.limits.memory_words as usize + COUNTER_COUNT;
        let fifo = &self.of(rank)[fifos + from as usize * words..][..words];
        Fifo { taken: &fifo[0], sent: &fifo[1], sent_before: &fifo[2], words: &fifo[FIFO_HEAD_WORDS..] }
    }

    fn check_rank(&self, rank: u32) {
        assert!(rank < self.size, "rank {rank} of a fabric of {} cards", self.size);
    }

    fn count_down(&self, rank: u32, counter: Option<Counter>) {
        if let Some(counter) = counter {
            self.counter(rank, counter).fetch_sub(1, Ordering::Release);
        }
    }
}

/// Words in front of the first card.
fn head_words(size: u32) -> usize {
    HEAD_WORDS + 2 * size as usize
}

fn card_words(size: u32, limits: CardLimits) -> usize {
    let fifos = size as usize * (FIFO_HEAD_WORDS + limits.fifo_share as usize);
    limits.memory_words as usize + COUNTER_COUNT + fifos
}

impl<M: AsRef<[AtomicU64]> + Clone> Vic for SharedCard<M> {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.cards.size
    }

    fn memory_words(&self) -> u32 {
        self.cards.limits.memory_words
    }

    fn put(&mut self, to: u32, words: &[PutWord]) -> usize {
        self.cards.check_rank(to);
        let memory = self.cards.memory(to);
        for PutWord { address, word, counter } in words {
            memory[*address as usize].store(*word, Ordering::Release);
            self.cards.count_down(to, *counter);
        }
        words.len()
    }

    fn query(&mut self, to: u32, queries: &[Query]) -> usize {
        self.cards.check_rank(to);
        let (other, own) = (self.cards.memory(to), self.cards.memory(self.rank));
        for Query { address, into, counter } in queries {
            own[*into as usize].store(other[*address as usize].load(Ordering::Acquire), Ordering::Release);
            self.cards.count_down(self.rank, *counter);
        }
        queries.len()
    }

    fn surprise(&mut self, to: u32, word: u64) -> bool {
        self.cards.check_rank(to);
        let Fifo { taken, sent, words, .. } = self.cards.fifo(to, self.rank);
        let at = sent.load(Ordering::Relaxed);
        if at.wrapping_sub(taken.load(Ordering::Acquire)) >= words.len() as u64 {
            return false;
        }
        words[(at % words.len() as u64) as usize].store(word, Ordering::Relaxed);
        sent.store(at.wrapping_add(1), Ordering::Release);
        true
    }

    fn take_surprise(&mut self) -> Option<(u32, u64)> {
        for _ in 0..self.cards.size {
            let from = self.next_source;
            self.next_source = (from + 1) % self.cards.size;
            let Fifo { taken, sent, words, .. } = self.cards.fifo(self.rank, from);
            let (at, end) = (taken.load(Ordering::Relaxed), sent.load(Ordering::Acquire));
            // Only after the count of words: a new card may come and send a word between the two.
            if self.cards.incarnation(from).load(Ordering::Acquire) != self.known[from as usize] {
                // The program has not noticed the replacement.
                continue;
            }
            if at != end {
                let word = words[(at % words.len() as u64) as usize].load(Ordering::Relaxed);
                taken.store(at.wrapping_add(1), Ordering::Release);
                return Some((from, word));
            }
        }
        None
    }

    fn read(&self, address: u32, into: &mut [u64]) {
        let memory = &self.cards.memory(self.rank)[address as usize..][..into.len()];
        into.iter_mut().zip(memory).for_each(|(word, cell)| *word = cell.load(Ordering::Acquire));
    }

    fn write(&mut self, address: u32, words: &[u64]) {
        let memory = &self.cards.memory(self.rank)[address as usize..][..words.len()];
        memory.iter().zip(words).for_each(|(cell, word)| cell.store(*word, Ordering::Release));
    }

    fn expect_words(&mut self, counter: Counter, words: u32) {
        self.cards.counter(self.rank, counter).fetch_add(words.into(), Ordering::AcqRel);
    }

    fn missing(&self, counter: Counter) -> i64 {
        // A count below zero has wrapped.
        self.cards.counter(self.rank, counter).load(Ordering::Acquire) as i64
    }

    fn clear(&mut self, counter: Counter) {
        self.cards.counter(self.rank, counter).store(0, Ordering::Release);
    }

    fn notice_replaced(&mut self) -> Vec<u32> {
        let count = self.cards.words()[REPLACED].load(Ordering::Acquire);
        if std::mem::replace(&mut self.known_count, count) == count {
            return Vec::new();
        }
        let SharedCard { cards, rank, known, .. } = self;
        let mut replaced = Vec::new();
        for (from, known) in (0..).zip(known) {
            let incarnation = cards.incarnation(from).load(Ordering::Acquire);
            if std::mem::replace(known, incarnation) != incarnation {
                let Fifo { taken, sent_before, .. } = cards.fifo(*rank, from);
                taken.fetch_max(sent_before.load(Ordering::Acquire), Ordering::AcqRel);
                replaced.push(from);
            }
        }
        replaced
    }

    fn enter_barrier(&mut self) {
        let barrier = *self.known_barriers.get_mut() + 1;
        if self.cards.last_barrier(self.rank).fetch_max(barrier, Ordering::AcqRel) >= barrier {
            // This card has come to the barrier, or its predecessor has.
            return;
        }
        let words = self.cards.words();
        if words[ARRIVED].fetch_add(1, Ordering::AcqRel) + 1 == u64::from(self.cards.size) {
            words[ARRIVED].store(0, Ordering::Relaxed);
            words[PASSED].fetch_add(1, Ordering::Release);
        }
    }

    fn barriers_passed(&self) -> u64 {
        let passed = self.cards.words()[PASSED].load(Ordering::Acquire);
        self.known_barriers.store(passed, Ordering::Relaxed);
        passed
    }
}

impl<M> fmt::Debug for SharedCards<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedCards")
            .field("size", &self.size)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
