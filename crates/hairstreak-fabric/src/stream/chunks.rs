//! `Chunks`: the parts of a card's memory that senders fill, each with a counter.

use std::collections::VecDeque;

use crate::card::{Counter, Vic};

/// Words of a chunk.
const CHUNK_WORDS: u32 = 1_024;
/// Bytes of a chunk.
pub(super) const CHUNK_BYTES: usize = CHUNK_WORDS as usize * 8;
/// Chunks of a card. Each is filled as fast as its sender can: with many at a time, cells for the card fill the network, and other cards
/// cannot send the word that asks for a chunk.
const CHUNKS_MAX: u32 = 4;

/// The chunks of a card.
#[derive(Debug)]
pub(super) struct Chunks {
    /// Other cards have as many.
    states: Vec<ChunkState>,
    free: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChunkState {
    Free,
    /// The card `peer` may fill the chunk for `stream`.
    Granted {
        peer: u32,
        stream: u16,
    },
    /// The words of the chunk are on their way.
    Announced {
        peer: u32,
    },
}

impl Chunks {
    /// As many chunks as the memory has room for, and counters.
    pub fn new(memory_words: u32) -> Chunks {
        let total = (memory_words / CHUNK_WORDS).min(CHUNKS_MAX) as u8;
        Chunks { states: vec![ChunkState::Free; total.into()], free: (0..total).rev().collect() }
    }

    pub fn exists(&self, chunk: u8) -> bool {
        usize::from(chunk) < self.states.len()
    }

    pub fn free_count(&self) -> usize {
        self.free.len()
    }

    /// Returns `true` if the streams of a card may have another chunk. Together they have at most half of all chunks.
    pub fn has_share_left(&self, peer: u32) -> bool {
        let held = self.states.iter().filter(|state| state.peer() == Some(peer)).count();
        held < self.states.len().div_ceil(2)
    }

    /// A chunk for a stream of the card `peer`, if one is free.
    pub fn grant(&mut self, peer: u32, stream: u16) -> Option<u8> {
        let chunk = self.free.pop()?;
        self.states[usize::from(chunk)] = ChunkState::Granted { peer, stream };
        Some(chunk)
    }

    /// A chunk is being filled. Returns whether it was granted to that stream of that card.
    pub fn announce(&mut self, chunk: u8, peer: u32, stream: u16) -> bool {
        let Some(state) = self.states.get_mut(usize::from(chunk)) else { return false };
        let is_granted = *state == ChunkState::Granted { peer, stream };
        if is_granted {
            *state = ChunkState::Announced { peer };
        }
        is_granted
    }

    pub fn give_back(&mut self, chunk: u8) {
        self.states[usize::from(chunk)] = ChunkState::Free;
        self.free.push(chunk);
    }

    /// The chunks that a card has.
    pub fn held_by(&self, peer: u32) -> Vec<u8> {
        let states = (0..).zip(&self.states);
        states.filter(|(_, state)| state.peer() == Some(peer)).map(|(chunk, _)| chunk).collect()
    }
}

impl ChunkState {
    fn peer(self) -> Option<u32> {
        match self {
            ChunkState::Free => None,
            ChunkState::Granted { peer, .. } | ChunkState::Announced { peer } => Some(peer),
        }
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

/// Returns `true` if all announced words of a chunk are there.
pub(super) fn is_whole(card: &(impl Vic + ?Sized), chunk: u8) -> bool {
    counter(chunk).is_some_and(|counter| card.missing(counter) == 0)
}

/// Appends the first `size` bytes of a chunk.
pub(super) fn copy_bytes(card: &(impl Vic + ?Sized), chunk: u8, size: usize, into: &mut VecDeque<u8>) {
    let mut words = vec![0; size.div_ceil(8)];
    card.read(address(chunk), &mut words);
    into.extend(words.iter().flat_map(|word| word.to_le_bytes()).take(size));
}
