//! `Keystream`: the keystream for the short messages of one direction, computed for several messages at once.
//!
//! The numbers of messages are consecutive. When message n needs its blocks, the blocks of the next messages are
//! computed with them, and kept until their numbers come. A number out of sequence only costs another computation:
//! all lanes take the time of a single message.
//!
//! Invariants: blocks depend only on the key and the requested number, never on a notion of "the next one".
//! Precomputed blocks therefore meet only the message with their number, and no two messages have the same number:
//! [`super::traffic`] counts the messages that it seals. All blocks are wiped when they are dropped.

use fearless_simd::Level;
use zeroize::Zeroizing;

use super::key::KEY_SIZE;
use super::lanes::{BLOCK_SIZE, EACH_MAX, LANES_MAX, compute};

/// Largest data of a short message, in bytes: its blocks hold the key of the tag and this much data.
pub(super) const SHORT_SIZE: usize = EACH_MAX * BLOCK_SIZE - KEY_SIZE;

/// The keystream of one direction, by the numbers of its messages.
#[derive(Clone)]
pub(super) struct Keystream {
    key: Zeroizing<[u32; 8]>,
    blocks: Zeroizing<[[u8; BLOCK_SIZE]; LANES_MAX]>,
    /// Number of the first block's message, number of messages with blocks, and number of blocks for each.
    first: u64,
    count: usize,
    each: usize,
}

impl Keystream {
    /// Creates the keystream of an inner key, which is the output of HSalsa20.
    pub(super) fn new(inner_key: &[u8; KEY_SIZE]) -> Keystream {
        let mut key = Zeroizing::new([0; 8]);
        for (word, bytes) in key.iter_mut().zip(inner_key.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Keystream { key, blocks: Zeroizing::new([[0; BLOCK_SIZE]; LANES_MAX]), first: 0, count: 0, each: 0 }
    }

    /// Returns the keystream of message `number`: the key of its tag, and at least `size` bytes to combine its data
    /// with. Panics beyond [`SHORT_SIZE`].
    #[inline]
    pub(super) fn of(&mut self, number: u64, size: usize) -> (&[u8; KEY_SIZE], &[u8]) {
        let mut index = number.wrapping_sub(self.first);
        if index >= self.count as u64 || KEY_SIZE + size > self.each * BLOCK_SIZE {
            self.compute_from(number, size);
            index = 0;
        }
        let start = index as usize * self.each;
        let stream = self.blocks[start..start + self.each].as_flattened();
        // INVARIANT: a block is larger than a key, and each message has one.
        stream.split_first_chunk().expect("a block")
    }

    #[inline(never)]
    fn compute_from(&mut self, number: u64, size: usize) {
        assert!(size <= SHORT_SIZE, "{size} bytes are no short message");
        self.each = (KEY_SIZE + size).div_ceil(BLOCK_SIZE).next_power_of_two();
        self.count = compute(Level::new(), &self.key, number, self.each, &mut self.blocks);
        self.first = number;
    }
}

#[cfg(test)]
mod tests {
    use dryoc::classic::crypto_core::crypto_core_hsalsa20;
    use dryoc::classic::crypto_secretbox::crypto_secretbox_detached;
    use proptest::prelude::*;

    use super::*;

    const PREFIX: &[u8; 16] = b"CurveZMQMESSAGEC";

    fn keystream(key: &[u8; KEY_SIZE]) -> Keystream {
        let mut inner_key = [0; KEY_SIZE];
        crypto_core_hsalsa20(&mut inner_key, PREFIX, key, None);
        Keystream::new(&inner_key)
    }

    /// NaCl's box of zeros contains the keystream as its data.
    fn by_nacl(key: &[u8; KEY_SIZE], number: u64, size: usize) -> Vec<u8> {
        let mut nonce = [0; 24];
        nonce[..16].copy_from_slice(PREFIX);
        nonce[16..].copy_from_slice(&number.to_be_bytes());
        let mut stream = vec![0; size];
        crypto_secretbox_detached(&mut stream, &mut [0; 16], &vec![0; size], &nonce, key).expect("a box");
        stream
    }

    #[test]
    fn numbers_that_follow_each_other_are_mostly_computed_ahead() {
        let mut stream = keystream(&[1; KEY_SIZE]);
        for (size, each) in [(0, 1), (32, 1), (33, 2), (96, 2), (97, 4), (SHORT_SIZE, 4)] {
            let mut computed = 0;
            for number in 1000..1160 {
                let before = (stream.first, stream.each);
                stream.of(number, size);
                computed += usize::from((stream.first, stream.each) != before);
                assert_eq!(stream.each, each);
            }
            // All vectors have at least four lanes.
            assert!(computed <= 160 * each / 4, "{computed} computations for {size} bytes");
            // The next size starts from the beginning.
            stream = keystream(&[1; KEY_SIZE]);
        }
    }

    #[test]
    fn each_number_has_its_own_blocks_whatever_was_computed_before() {
        let mut stream = keystream(&[2; KEY_SIZE]);
        let mut seen = std::collections::HashSet::new();
        for number in 1..500 {
            let (tag_key, rest) = stream.of(number, [9, 65, 1, 200, 96][number as usize % 5]);
            for part in [&tag_key[..], &rest[..32]] {
                assert!(seen.insert(part.to_vec()), "a block of {number} has been there");
            }
        }
    }

    proptest! {
        #[test]
        fn any_number_in_any_order_gets_what_nacl_gives_it(
            key: [u8; KEY_SIZE],
            start: u64,
            asked in prop::collection::vec((prop_oneof![Just(1_u64), Just(0), 0..40_u64, any::<u64>()], 0..=SHORT_SIZE), 1..60),
        ) {
            let (mut stream, mut number) = (keystream(&key), start);
            for (step, size) in asked {
                number = number.wrapping_add(step);
                let (_, rest) = stream.of(number, size);
                prop_assert!(rest.len() >= size);
                prop_assert_eq!(&rest[..size], by_nacl(&key, number, size));
            }
        }
    }
}
