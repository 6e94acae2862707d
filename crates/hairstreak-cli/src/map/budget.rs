//! `Budget`: bounds the bytes of large records under way, so that memory is bounded for records of any size.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The size of a large record. The number of smaller records bounds their bytes well enough.
const LARGE_SIZE: usize = 4096;
/// The largest number of bytes of large records under way. A single larger record is let through.
const LARGE_BYTES_MAX: usize = 32 << 20;

#[derive(Debug, Default)]
struct Large {
    /// By number.
    sizes: HashMap<u64, usize>,
    bytes: usize,
}

/// Bytes of large records under way.
#[derive(Debug, Default)]
pub struct Budget {
    large: Mutex<Large>,
    /// The number of large records under way. While it is zero, the end of a record takes no lock.
    large_count: AtomicUsize,
    less: Condvar,
}

impl Budget {
    /// Waits until a record of `size` bytes has room.
    pub fn take(&self, number: u64, size: usize) {
        if size < LARGE_SIZE {
            return;
        }
        let is_full = |large: &mut Large| large.bytes > 0 && large.bytes + size > LARGE_BYTES_MAX;
        let mut large = self.less.wait_while(self.large(), is_full).unwrap_or_else(PoisonError::into_inner);
        large.bytes += size;
        large.sizes.insert(number, size);
        self.large_count.fetch_add(1, Ordering::Release);
    }

    /// The record has its result, or will get none.
    pub fn give_back(&self, number: u64) {
        if self.large_count.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut large = self.large();
        if let Some(size) = large.sizes.remove(&number) {
            large.bytes -= size;
            self.large_count.fetch_sub(1, Ordering::Release);
            self.less.notify_all();
        }
    }

    fn large(&self) -> MutexGuard<'_, Large> {
        self.large.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_records_wait_for_earlier_ones() {
        let budget = Budget::default();
        budget.take(0, LARGE_BYTES_MAX + 1);
        budget.take(1, LARGE_SIZE - 1);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| budget.take(2, LARGE_SIZE));
            [1, 0].into_iter().for_each(|number| budget.give_back(number));
            second.join().unwrap();
        });
        assert_eq!(budget.large().bytes, LARGE_SIZE);
        budget.take(3, LARGE_BYTES_MAX - LARGE_SIZE);
        assert_eq!(budget.large().bytes, LARGE_BYTES_MAX);
    }
}
