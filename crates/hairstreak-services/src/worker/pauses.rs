//! `Pauses`: detects that this process was not running for a while: it was stopped (SIGSTOP), or its machine was too
//! busy.
//!
//! The worker checks the clock at least every few hundred milliseconds. A pause is a gap between two checks that is
//! long enough for brokers to give the worker up and its requests away. Invariant: the count of pauses only grows.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct Pauses {
    /// Shortest gap that is a pause. `None`: pauses are not detected.
    limit: Option<Duration>,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    looked: Instant,
    count: u64,
}

impl Pauses {
    /// Returns a detector. A gap of at least `limit` between two checks is a pause. 0 turns the detection off.
    pub fn new(limit: Duration, now: Instant) -> Pauses {
        Pauses {
            limit: Some(limit).filter(|limit| !limit.is_zero()),
            seen: Mutex::new(Seen { looked: now, count: 0 }),
        }
    }

    /// Checks the clock. Returns the number of pauses so far, including one that ends now.
    pub fn look(&self, now: Instant) -> u64 {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let since = now.saturating_duration_since(seen.looked);
        if self.limit.is_some_and(|limit| since >= limit) {
            seen.count += 1;
        }
        // Another thread may have read the clock later.
        seen.looked = seen.looked.max(now);
        seen.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_time_without_a_look_is_a_pause() {
        let begin = Instant::now();
        let at = |ms| begin + Duration::from_millis(ms);
        let pauses = Pauses::new(Duration::from_millis(500), begin);
        let counts = [100, 599, 1099, 1000, 1598, 5000].map(|ms| pauses.look(at(ms)));
        assert_eq!(counts, [0, 0, 1, 1, 1, 2]);
        let none = Pauses::new(Duration::ZERO, begin);
        assert_eq!(none.look(at(100_000)), 0);
    }
}
