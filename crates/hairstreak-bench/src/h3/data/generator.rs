//! `Generator`: the messages of a run, the same ones whenever they are made with the same seed.
//!
//! A body begins with eight bytes that no other message of the run has, and goes on with random bytes. Bodies are made
//! one after the other and never all kept, so that the sender's memory is no bound on a run.

/// Random bytes that bodies are cut from, beside the longest body.
const POOL_SIZE: usize = 1 << 20;
/// From one message to the next the cut moves by so many bytes: an odd number, so that all places have their turn.
const STRIDE: usize = 4099;
/// An odd number: multiplying by it makes different words of different words.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// The bytes that tell messages apart.
pub const NUMBER_SIZE: usize = 8;

/// Makes messages.
#[derive(Debug)]
pub struct Generator {
    size: usize,
    seed: u64,
    number: u64,
    pool: Vec<u8>,
}

impl Generator {
    /// Messages of `size` bytes, at least 8.
    pub fn new(size: usize, seed: u64) -> Generator {
        let mut state = seed;
        let words = (POOL_SIZE + size).div_ceil(8);
        let pool = (0..words).flat_map(|_| split_mix(&mut state).to_le_bytes()).collect();
        Generator { size: size.max(NUMBER_SIZE), seed, number: 0, pool }
    }

    /// Bytes of a message.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Begins with the first message again.
    pub fn restart(&mut self) {
        self.number = 0;
    }

    /// The next message: its first bytes, and the others.
    #[inline]
    pub fn next_parts(&mut self) -> ([u8; NUMBER_SIZE], &[u8]) {
        let number = self.number;
        self.number += 1;
        let at = (number as usize).wrapping_mul(STRIDE) % POOL_SIZE;
        let head = (number.wrapping_mul(SPREAD) ^ self.seed).to_le_bytes();
        (head, &self.pool[at..at + self.size - NUMBER_SIZE])
    }

    /// Appends the next message to `out`.
    #[inline]
    pub fn append_next(&mut self, out: &mut Vec<u8>) {
        let (head, rest) = self.next_parts();
        out.extend_from_slice(&head);
        out.extend_from_slice(rest);
    }
}

/// Steele, Lea and Flood's SplitMix64 (2014): the next number of a sequence.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(SPREAD);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn messages(size: usize, seed: u64, count: usize) -> Vec<Vec<u8>> {
        let mut generator = Generator::new(size, seed);
        let next = |_| {
            let mut message = Vec::new();
            generator.append_next(&mut message);
            message
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn messages_have_their_size_and_no_two_of_a_run_are_the_same() {
        for size in [8, 9, 4096] {
            let messages = messages(size, 1, 5000);
            assert!(messages.iter().all(|message| message.len() == size));
            let numbers: HashSet<&[u8]> = messages.iter().map(|message| &message[..NUMBER_SIZE]).collect();
            assert_eq!(numbers.len(), 5000);
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_messages_and_another_seed_others() {
        assert_eq!(messages(100, 7, 20), messages(100, 7, 20));
        assert_ne!(messages(100, 7, 1), messages(100, 8, 1));
        let mut generator = Generator::new(100, 7);
        let first = generator.next_parts().0;
        generator.next_parts();
        generator.restart();
        assert_eq!(generator.next_parts().0, first);
    }
}
