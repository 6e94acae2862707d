//! `Digester`: one number for a sequence of messages, so that two hosts can compare what was sent with what arrived.
//!
//! The messages are the coefficients of a polynomial modulo the prime 2^61 - 1: for each message its size plus one, then
//! its bytes by seven. The digest is the polynomial's value at a key that is drawn at random once everything has been
//! sent. Sequences that differ in a byte, a size or their order are different polynomials, so that they agree at no more
//! keys than they have coefficients (Carter and Wegman's argument): 100 GB that are wrong pass with a chance below 10^-8.

use serde::{Deserialize, Serialize};

/// 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;
/// Bytes of a coefficient: the most that stay below the prime.
const PART_SIZE: usize = 7;

/// The messages of one node: how many, how large and which.
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
    tally: Tally,
}

impl Digester {
    /// No message yet. Both sides need the same `key`.
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

    /// The messages so far.
    pub fn tally(&self) -> Tally {
        self.tally
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
    use super::*;

    const KEY: u64 = 0x1234_5678_9abc_def1;

    fn digest(messages: &[&[u8]]) -> u64 {
        let mut digester = Digester::new(KEY);
        messages.iter().for_each(|message| digester.add(message));
        digester.tally().digest
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
    fn where_a_message_ends_is_part_of_the_digest() {
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
        let tally = |messages: &[&[u8]]| {
            let mut digester = Digester::new(KEY);
            messages.iter().for_each(|message| digester.add(message));
            digester.tally()
        };
        assert_eq!((tally(&[b"abc", b"d"]).count, tally(&[b"abc", b"d"]).bytes), (2, 4));
    }
}
