//! `Received`: the messages that publishers sent to a virtual host, with any outcome, and their sizes.
//!
//! - `Publishers`: the number of open channels that have published.

use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The upper bounds of the sizes in a bucket, in bytes, as in RabbitMQ. The last bucket has no bound.
const BOUNDS: [u64; 8] = [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 50_000_000, 100_000_000];

/// Number of buckets.
pub const BUCKET_COUNT: usize = BOUNDS.len() + 1;

/// The messages from publishers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Messages received.
    pub count: u64,
    /// Messages received on channels with confirms or transactions. They also count in `count`.
    pub confirm_count: u64,
    /// The bytes of their bodies.
    pub bytes: u64,
    /// Messages in each bucket of sizes, without the messages of smaller buckets.
    pub sizes: [u64; BUCKET_COUNT],
}

impl Received {
    /// Counts messages of one size.
    #[inline]
    pub fn note(&mut self, count: u64, size: u64, is_confirming: bool) {
        self.count += count;
        self.confirm_count += if is_confirming { count } else { 0 };
        self.bytes += count * size;
        self.sizes[bucket_of(size)] += count;
    }
}

impl AddAssign for Received {
    fn add_assign(&mut self, other: Received) {
        self.count += other.count;
        self.confirm_count += other.confirm_count;
        self.bytes += other.bytes;
        self.sizes.iter_mut().zip(other.sizes).for_each(|(sum, count)| *sum += count);
    }
}

fn bucket_of(size: u64) -> usize {
    // Most messages are small.
    BOUNDS.iter().position(|bound| size <= *bound).unwrap_or(BOUNDS.len())
}

/// The channels that have published.
#[derive(Debug, Default)]
pub struct Publishers(AtomicU64);

/// A channel among the publishers, until it is dropped.
#[derive(Debug)]
pub struct Publisher(Arc<Publishers>);

impl Publishers {
    /// A channel publishes for the first time.
    pub fn add(self: &Arc<Publishers>) -> Publisher {
        self.0.fetch_add(1, Relaxed);
        Publisher(Arc::clone(self))
    }

    /// Returns the number of messages.
    pub fn count(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_in_the_bucket_whose_bound_it_does_not_pass() {
        for (size, bucket) in
            [(0, 0), (100, 0), (101, 1), (10_000, 2), (10_001, 3), (100_000_000, 7), (100_000_001, 8)]
        {
            let mut received = Received::default();
            received.note(3, size, bucket == 1);
            assert_eq!(received.sizes[bucket], 3, "{size} bytes");
            assert_eq!((received.count, received.bytes), (3, 3 * size));
            assert_eq!(received.confirm_count, if bucket == 1 { 3 } else { 0 });
            let mut twice = received;
            twice += received;
            assert_eq!((twice.count, twice.sizes[bucket]), (6, 6));
        }
    }
}
