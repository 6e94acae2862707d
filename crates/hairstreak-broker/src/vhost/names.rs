//! Names: generated names, and the names of queues in texts.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;

/// The digits of base64 in URLs.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// The digits of 128 bits.
const DIGIT_COUNT: usize = 22;

/// Makes names that cannot be guessed, from a count and a secret.
#[derive(Debug, Default)]
pub(super) struct NameSource {
    secret: RandomState,
    count: u64,
}

impl NameSource {
    /// A new name with this prefix.
    pub(super) fn next(&mut self, prefix: &str) -> Box<[u8]> {
        self.count += 1;
        let halves = [self.secret.hash_one((self.count, 0_u8)), self.secret.hash_one((self.count, 1_u8))];
        let mut bits = u128::from(halves[0]) << 64 | u128::from(halves[1]);
        let mut name = prefix.as_bytes().to_vec();
        for _ in 0..DIGIT_COUNT {
            name.push(DIGITS[(bits % 64) as usize]);
            bits /= 64;
        }
        name.into()
    }
}

/// `queue 'q' in vhost '/'`.
pub(super) struct QueueName<'a> {
    pub(super) queue: &'a [u8],
    pub(super) virtual_host: &'a str,
}

impl fmt::Display for QueueName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "queue '{}' in vhost '{}'", String::from_utf8_lossy(self.queue), self.virtual_host)
    }
}
