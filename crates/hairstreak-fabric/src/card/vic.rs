//! `Vic`: a program's operations on an interface card.

use super::cell::Counter;

/// A word for another card's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutWord {
    /// Address in the other memory.
    pub address: u32,
    /// The word.
    pub word: u64,
    /// The other card's counter that the word counts down when it is there.
    pub counter: Option<Counter>,
}

/// A word that is read from another card's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// Address in the other memory.
    pub address: u32,
    /// Address in this memory.
    pub into: u32,
    /// This card's counter that the word counts down when it is there.
    pub counter: Option<Counter>,
}

/// A card that is attached to a fabric. No call waits.
///
/// Words from one card to another arrive in any order. Each word can count down a counter, so that a program knows when all words are there.
/// Ranks are from 0 to [`Vic::size`] - 1, addresses below the size of the memory.
///
/// # Panics
///
/// All calls: a rank or an address that does not exist.
pub trait Vic {
    /// The number of this card.
    fn rank(&self) -> u32;

    /// Returns the number of cards in the fabric.
    fn size(&self) -> u32;

    /// Words of each card's memory.
    fn memory_words(&self) -> u32;

    /// Sends words to another card's memory. Returns the number of words taken: the first ones, as far as there is
    /// room.
    fn put(&mut self, to: u32, words: &[PutWord]) -> usize;

    /// Asks another card for words of its memory; the card answers by itself. Returns the number of queries taken: the
    /// first ones.
    fn query(&mut self, to: u32, queries: &[Query]) -> usize;

    /// Sends a word into another card's FIFO. Each card has a share of the FIFO. Returns whether the share had room for the word.
    fn surprise(&mut self, to: u32, word: u64) -> bool;

    /// The next word of the FIFO, and the card that it came from.
    fn take_surprise(&mut self) -> Option<(u32, u64)>;

    /// Reads this card's memory from `address` on.
    fn read(&self, address: u32, into: &mut [u64]);

    /// Writes this card's memory from `address` on.
    fn write(&mut self, address: u32, words: &[u64]);

    /// Expects `words` more words for a counter. Words that have come before count: the order does not matter.
    fn expect_words(&mut self, counter: Counter, words: u32);

    /// Expected words that have not arrived. Below zero: words that have arrived and were not expected.
    fn missing(&self, counter: Counter) -> i64;

    /// Sets a counter to zero: no words are expected, and words that came unexpectedly are forgotten.
    fn clear(&mut self, counter: Counter);

    /// The ranks whose cards were replaced since the last call. Words to the old card are dropped, and words of the old card that the program
    /// has not taken. Call this before [`Vic::take_surprise`], so that each word is of the card that the program knows.
    fn notice_replaced(&mut self) -> Vec<u32>;

    /// Comes to the barrier after the last one that [`Vic::barriers_passed`] has returned. A rank counts once for each
    /// barrier. The successor of a card that is gone comes to the barrier again, because its predecessor may not have
    /// come.
    fn enter_barrier(&mut self);

    /// Returns the number of barriers that all cards have come to.
    fn barriers_passed(&self) -> u64;
}
