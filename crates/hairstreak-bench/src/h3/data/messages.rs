//! Messages: made from a seed, framed on a byte stream, and digested to one number.
//!
//! - `Generator`: the messages of a run, the same ones for the same seed. A body begins with eight bytes that no other
//!   message of the run has, and goes on with random bytes. No sender keeps all bodies, so that the sender's memory is no
//!   bound on a run.
//! - `Frames`: four bytes of size, little-endian, then the body.
//! - `Digester`: one number for a sequence of messages, so that two hosts can compare sent and arrived messages.
//!
//! The messages are the coefficients of a polynomial modulo the prime 2^61 - 1: for each message its size plus one, then
//! its bytes by seven. The digest is the polynomial's value at a key that is drawn at random once everything has been
//! sent. Sequences that differ in a byte, a size or their order are different polynomials, so that they agree at no more
//! keys than they have coefficients (Carter and Wegman's argument): 100 GB that are wrong pass with a chance below 10^-8.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

/// Bytes in front of a body.
pub const HEADER_SIZE: usize = 4;
const SIZE_MAX: usize = 16 << 20;
/// Random bytes that bodies are cut from, beside the longest body.
const POOL_SIZE: usize = 1 << 20;
/// The step of the cut from one message to the next, in bytes: an odd number, so that all places have their turn.
const STRIDE: usize = 4099;
/// An odd number: multiplying by it makes different words of different words.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// The bytes that tell messages apart.
const NUMBER_SIZE: usize = 8;
/// 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;
/// Bytes of a coefficient: the most that stay below the prime.
const PART_SIZE: usize = 7;

/// The maker of a run's messages.
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
        let mut pool = vec![0; POOL_SIZE + size];
        fastrand::Rng::with_seed(seed).fill(&mut pool);
        Generator { size: size.max(NUMBER_SIZE), seed, number: 0, pool }
    }

    /// Begins with the first message again.
    pub fn restart(&mut self) {
        self.number = 0;
    }

    /// Returns the next message: its first bytes, and the others.
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

/// Appends the header of a body of `size` bytes.
#[inline]
pub fn push_frame(out: &mut Vec<u8>, size: usize) {
    out.extend_from_slice(&(size as u32).to_le_bytes());
}

/// The ends of messages in bytes that lie in one piece and grow.
#[derive(Debug, Default)]
pub struct Frames {
    /// Bytes of the messages so far.
    pub taken: usize,
}

impl Frames {
    /// Hands all whole messages of `bytes` to `take`. The messages taken before are the beginning of `bytes`. Returns the
    /// number of new messages.
    ///
    /// Errors: a size that no message has, and the errors of `take`.
    #[inline]
    pub fn take(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<u64> {
        let mut count = 0;
        while let Some(header) = bytes[self.taken..].first_chunk::<HEADER_SIZE>() {
            let size = u32::from_le_bytes(*header) as usize;
            ensure!(size <= SIZE_MAX, "a message of {size} bytes was announced; at most {SIZE_MAX}");
            let begin = self.taken + HEADER_SIZE;
            let Some(body) = bytes.get(begin..begin + size) else { break };
            take(body)?;
            self.taken = begin + size;
            count += 1;
        }
        Ok(count)
    }
}

/// Number, bytes and digest of the messages of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Messages.
    pub count: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// The digest of all messages in their order.
    pub digest: u64,
}

/// Adds message after message to a [`Tally`].
#[derive(Debug)]
pub struct Digester {
    key: u64,
    /// The messages so far.
    pub tally: Tally,
}

impl Digester {
    /// Both sides need the same `key`.
    pub fn new(key: u64) -> Digester {
        Digester { key: key % PRIME, tally: Tally::default() }
    }

    /// Adds a message.
    pub fn add(&mut self, message: &[u8]) {
        self.tally.count += 1;
        self.tally.bytes += message.len() as u64;
        self.mix(message.len() as u64 + 1);
        let (parts, rest) = message.as_chunks::<PART_SIZE>();
        for part in parts {
            self.mix(word(part));
        }
        if !rest.is_empty() {
            self.mix(word(rest));
        }
    }

    #[inline]
    fn mix(&mut self, coefficient: u64) {
        let product = u128::from(self.tally.digest) * u128::from(self.key) + u128::from(coefficient);
        // 2^61 is 1 modulo the prime: the upper bits are added to the lower ones.
        let sum = (product as u64 & PRIME) + (product >> 61) as u64;
        self.tally.digest = if sum >= PRIME { sum - PRIME } else { sum };
    }
}

#[inline]
fn word(part: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..part.len()].copy_from_slice(part);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const KEY: u64 = 0x1234_5678_9abc_def1;

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

    #[test]
    fn messages_of_any_size_come_out_whole_wherever_the_bytes_are_cut() {
        let bodies: [&[u8]; 4] = [b"first", b"", &[7; 300], b"last"];
        let mut bytes = Vec::new();
        for body in bodies {
            push_frame(&mut bytes, body.len());
            bytes.extend_from_slice(body);
        }
        for cut in 0..=bytes.len() {
            let (mut frames, mut taken) = (Frames::default(), Vec::new());
            let mut take = |body: &[u8]| {
                taken.push(body.to_vec());
                Ok(())
            };
            let first = frames.take(&bytes[..cut], &mut take).unwrap();
            let second = frames.take(&bytes, take).unwrap();
            assert_eq!((first + second, frames.taken), (4, bytes.len()));
            assert_eq!(taken, bodies, "cut at {cut}");
        }
    }

    #[test]
    fn a_size_beyond_the_bound_is_an_error_that_names_it_and_the_bound_itself_is_none() {
        let take = |size: usize| {
            let mut bytes = Vec::new();
            push_frame(&mut bytes, size);
            Frames::default().take(&bytes, |_| Ok(()))
        };
        assert_eq!(take(SIZE_MAX).unwrap(), 0);
        let error = take(SIZE_MAX + 1).unwrap_err().to_string();
        assert_eq!(error, "a message of 16777217 bytes was announced; at most 16777216");
    }

    fn tally(messages: &[&[u8]]) -> Tally {
        let mut digester = Digester::new(KEY);
        messages.iter().for_each(|message| digester.add(message));
        digester.tally
    }

    fn digest(messages: &[&[u8]]) -> u64 {
        tally(messages).digest
    }

    #[test]
    fn every_flipped_bit_a_lost_a_doubled_and_a_swapped_message_change_the_digest() {
        let message: Vec<u8> = (0..100).collect();
        let whole = digest(&[&message, b"other"]);
        for bit in 0..8 * message.len() {
            let mut changed = message.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(digest(&[&changed, b"other"]), whole, "bit {bit}");
        }
        assert_ne!(digest(&[&message]), whole);
        assert_ne!(digest(&[&message, &message, b"other"]), whole);
        assert_ne!(digest(&[b"other", &message]), whole);
    }

    #[test]
    fn the_end_of_a_message_is_part_of_the_digest() {
        let all =
            [&[b"ab" as &[u8], b"c"] as &[&[u8]], &[b"a", b"bc"], &[b"abc"], &[b"abc", b""], &[b"abc\0"]];
        for (index, one) in all.iter().enumerate() {
            all[..index].iter().for_each(|other| assert_ne!(digest(one), digest(other), "{one:?} {other:?}"));
        }
    }

    #[test]
    fn a_digest_is_the_value_of_the_polynomial() {
        // One message of two bytes: (size + 1) * key + word, by arithmetic on wide numbers.
        let (key, prime) = (u128::from(KEY % PRIME), u128::from(PRIME));
        assert_eq!(u128::from(digest(&[b"\x01\x02"])), (3 * key + 0x0201) % prime);
        let Tally { count, bytes, .. } = tally(&[b"abc", b"d"]);
        assert_eq!((count, bytes), (2, 4));
    }
}
