//! `Chunks`: the parts of a card's memory that senders fill, each with a counter.

use crate::card::Counter;

/// Words of a chunk.
pub(super) const CHUNK_WORDS: u32 = 1_024;
/// Bytes of a chunk.
pub(super) const CHUNK_BYTES: usize = CHUNK_WORDS as usize * 8;

/// The chunks that nobody fills.
#[derive(Debug)]
pub(super) struct Chunks {
    free: Vec<u8>,
}

impl Chunks {
    /// As many chunks as the memory has room for, and counters.
    pub fn new(memory_words: u32) -> Chunks {
        let count = (memory_words / CHUNK_WORDS).min(64) as u8;
        Chunks { free: (0..count).rev().collect() }
    }

    pub fn count(&self) -> usize {
        self.free.len()
    }

    pub fn take(&mut self) -> Option<u8> {
        self.free.pop()
    }

    pub fn give_back(&mut self, chunk: u8) {
        self.free.push(chunk);
    }
}

/// The first word of a chunk.
pub(super) fn address(chunk: u8) -> u32 {
    u32::from(chunk) * CHUNK_WORDS
}

/// The counter of a chunk.
pub(super) fn counter(chunk: u8) -> Option<Counter> {
    Counter::new(chunk)
}
