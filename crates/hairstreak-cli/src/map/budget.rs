//! `Budget`: how many bytes of large records may be under way, so that memory is bounded whatever their size.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Smaller records are bounded well enough by their number.
const LARGE_SIZE: usize = 4096;
/// Bytes of larger ones that are under way; one may pass it.
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
    /// How many are large, so that the others pass by.
    large_count: AtomicUsize,
    less: Condvar,
}

impl Budget {
    /// Waits until a record of that size may go on its way, `timeout` at most. Returns whether it may.
    pub fn take(&self, number: u64, size: usize, timeout: Duration) -> bool {
        if size < LARGE_SIZE {
            return true;
        }
        let is_full = |large: &mut Large| large.bytes > 0 && large.bytes + size > LARGE_BYTES_MAX;
        let waited = self.less.wait_timeout_while(self.large(), timeout, is_full);
        let (mut large, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return false;
        }
        large.bytes += size;
        large.sizes.insert(number, size);
        self.large_count.fetch_add(1, Ordering::Release);
        true
    }

    /// The record has its result.
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

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn large_records_wait_for_earlier_ones() {
        let budget = Budget::default();
        assert!(budget.take(0, LARGE_BYTES_MAX + 1, LONG));
        assert!(budget.take(1, LARGE_SIZE - 1, Duration::ZERO));
        std::thread::scope(|scope| {
            let second = scope.spawn(|| assert!(budget.take(2, LARGE_SIZE, LONG)));
            [1, 0].into_iter().for_each(|number| budget.give_back(number));
            second.join().unwrap();
        });
        assert_eq!(budget.large().bytes, LARGE_SIZE);
        assert!(budget.take(3, LARGE_BYTES_MAX - LARGE_SIZE, LONG));
        assert_eq!(budget.large().bytes, LARGE_BYTES_MAX);
    }

    #[test]
    fn who_waits_in_vain_is_told_and_may_look_what_has_failed() {
        let budget = Budget::default();
        assert!(budget.take(0, LARGE_BYTES_MAX, LONG));
        assert!(!budget.take(1, LARGE_SIZE, Duration::ZERO));
        assert_eq!(budget.large().bytes, LARGE_BYTES_MAX);
        budget.give_back(0);
        assert!(budget.take(1, LARGE_SIZE, Duration::ZERO));
        assert_eq!(budget.large().bytes, LARGE_SIZE);
    }
}
