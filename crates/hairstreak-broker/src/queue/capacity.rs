//! `Capacity`: the share of time in which a queue can deliver to its consumers at once, as RabbitMQ counts it.
//!
//! ```text
//!               a message waits: no consumer can take it
//!        Able ----------------------------------------------> Blocked
//!          ^                                                     |
//!          +-----------------------------------------------------+
//!               a consumer can take messages again
//! ```
//!
//! Each way around the circle is a share of its own. The shares have a moving average over a second.

/// The time that counts, in milliseconds.
const WINDOW_MS: u64 = 1000;

/// The share of time in which a queue can deliver. Times are the host's milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// The time at which the state began.
    since: u64,
    /// The time for which the queue was able before it was blocked; `None`: the queue is able.
    able_ms: Option<u64>,
    /// The average of the ways around before this one.
    average: f64,
}

impl Capacity {
    /// A queue that is able from now on.
    pub(crate) fn new(now: u64) -> Capacity {
        Capacity { since: now, able_ms: None, average: 1.0 }
    }

    /// A message waits, and no consumer can take it.
    #[inline]
    pub(crate) fn block(&mut self, now: u64) {
        if self.able_ms.is_none() {
            self.able_ms = Some(now.saturating_sub(self.since));
            self.since = now;
        }
    }

    /// A consumer can take messages.
    #[inline]
    pub(crate) fn unblock(&mut self, now: u64) {
        if self.able_ms.is_some() {
            (self.average, self.able_ms) = (self.at(now), None);
            self.since = now;
        }
    }

    /// The share at a time: 1 where consumers have always been able to take the next message, 0 where they never were.
    pub fn at(&self, now: u64) -> f64 {
        let passed = now.saturating_sub(self.since);
        let (able_ms, all_ms) = self.able_ms.map_or((passed, passed), |able_ms| (able_ms, able_ms + passed));
        if all_ms == 0 {
            return self.average;
        }
        let weight = all_ms.min(WINDOW_MS) as f64 / WINDOW_MS as f64;
        able_ms as f64 / all_ms as f64 * weight + self.average * (1.0 - weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs through the circle: able and blocked for these numbers of milliseconds.
    fn capacity(ways: &[(u64, u64)]) -> f64 {
        let (mut now, mut capacity) = (5000, Capacity::new(5000));
        for (able, blocked) in ways {
            now += able;
            capacity.block(now);
            capacity.block(now + blocked / 2);
            now += blocked;
            capacity.unblock(now);
        }
        capacity.unblock(now);
        capacity.at(now)
    }

    #[test]
    fn a_queue_is_as_able_as_it_was_lately() {
        let near = |ways: &[(u64, u64)], expected: f64| {
            let found = capacity(ways);
            assert!((found - expected).abs() < 0.02, "{found} instead of {expected} after {ways:?}");
        };
        near(&[], 1.0);
        near(&[(500, 0)], 1.0);
        near(&[(0, 2000)], 0.0);
        near(&[(300, 700)], 0.3);
        near(&[(2, 6); 1000], 0.25);
        near(&[&[(2, 6); 1000][..], &[(9, 1); 1000]].concat(), 0.9);
        // Times shorter than a millisecond are counted now and then.
        near(&[&[(0, 0); 9][..], &[(1, 0), (0, 0), (0, 1)]].concat().repeat(4000), 0.5);
    }

    #[test]
    fn the_state_of_now_counts() {
        let mut capacity = Capacity::new(1000);
        assert_eq!(capacity.at(1000), 1.0);
        capacity.block(2000);
        assert_eq!((capacity.at(2000), capacity.at(3000)), (1.0, 0.5));
        capacity.unblock(3000);
        assert_eq!((capacity.at(3000), capacity.at(3500), capacity.at(4000)), (0.5, 0.75, 1.0));
        // The clock moves back.
        capacity.block(2000);
        assert_eq!(capacity.at(1000), 0.5);
    }
}
