//! `Vic`: what a program does with an interface card.

use super::counter::Counter;

/// A word for another card's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutWord {
    /// Where in the other memory.
    pub address: u32,
    /// The word.
    pub word: u64,
    /// The other card's counter that the word counts down when it is there.
    pub counter: Option<Counter>,
}

/// A word that is read from another card's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// Where in the other memory.
    pub address: u32,
    /// Where in this memory.
    pub into: u32,
    /// This card's counter that the word counts down when it is there.
    pub counter: Option<Counter>,
}

/// A card that is attached to a fabric. No call waits.
///
/// Words of one card to another arrive in any order. A program that wants to know when all of them are there has each count down a counter.
/// Ranks are from 0 to [`Vic::size`] - 1, addresses below the size of the memory.
///
/// # Panics
///
/// All calls: a rank or an address that does not exist.
pub trait Vic {
    /// The number of this card.
    fn rank(&self) -> u32;

    /// How many cards the fabric has.
    fn size(&self) -> u32;

    /// Words of each card's memory.
    fn memory_words(&self) -> u32;

    /// Sends words to another card's memory. Returns how many are on their way: the first ones, as far as there is room.
    fn put(&mut self, to: u32, words: &[PutWord]) -> usize;

    /// Asks another card for words of its memory; the card answers by itself. Returns how many queries are on their way: the first ones.
    fn query(&mut self, to: u32, queries: &[Query]) -> usize;

    /// Sends a word into another card's FIFO. Returns whether it is on its way: each card has a share of the FIFO, and waits while that is full.
    fn surprise(&mut self, to: u32, word: u64) -> bool;

    /// The next word of the FIFO, and the card that it came from.
    fn take_surprise(&mut self) -> Option<(u32, u64)>;

    /// Reads this card's memory from `address` on.
    fn read(&self, address: u32, into: &mut [u64]);

    /// Writes this card's memory from `address` on.
    fn write(&mut self, address: u32, words: &[u64]);

    /// Expects so many more words for a counter. Words that have come before count: the order does not matter.
    fn expect_words(&mut self, counter: Counter, words: u32);

    /// Words that are expected and not there. Below zero: that came and were not expected.
    fn missing(&self, counter: Counter) -> i64;

    /// Expects no words for a counter, and forgets those that came and were not expected.
    fn clear(&mut self, counter: Counter);

    /// The ranks whose cards have become other ones since the last call. What a card that is gone had sent, and nobody had taken, is dropped; so is
    /// what was sent to it. To be called before [`Vic::take_surprise`], so that no word is taken for one of a card that is gone.
    fn notice_replaced(&mut self) -> Vec<u32>;

    /// Comes to the barrier after those that [`Vic::barriers_passed`] has told of. A rank counts once for each barrier. The successor of a
    /// card that is gone comes to the barrier again, because nobody knows whether its predecessor has.
    fn enter_barrier(&mut self);

    /// How many barriers all cards have come to.
    fn barriers_passed(&self) -> u64;
}
