//! `Window`: how many messages of a PUSH may be unsettled: a number, or as many as throughput grows with.
//!
//! One that grows is doubled as long as that brings more messages settled per second, measured over two windows and at
//! least a millisecond in which senders had to wait for room. A doubling that brought nothing is taken back, and tried again
//! later: receivers may have come.

use std::time::{Duration, Instant};

/// What a window that grows begins with.
const WINDOW_MIN: u64 = 128;
/// The shortest time over which a rate is measured.
const PERIOD: Duration = Duration::from_millis(1);
/// What a doubling has to bring, in percent.
const GAIN_PERCENT: u64 = 5;
/// Measurements until a doubling that brought nothing is tried again.
const PATIENCE: u32 = 50;

/// The most messages that may be unsettled now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    count: u64,
    count_max: u64,
    /// `Some` where it grows.
    growth: Option<Growth>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Growth {
    since: Option<Instant>,
    settled: u64,
    /// Whether a sender had to wait for room.
    was_full: bool,
    /// Messages settled per second at half of the present window; 0 if not known.
    rate_before: u64,
    /// Measurements to be waited for.
    patience: u32,
    /// The present window is on trial.
    is_trial: bool,
}

impl Window {
    pub fn new(count_max: usize, grows: bool) -> Window {
        let count_max = count_max.max(1) as u64;
        let count = if grows { WINDOW_MIN.min(count_max) } else { count_max };
        Window { count, count_max, growth: grows.then(Growth::default) }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// A sender has to wait for room.
    pub fn note_full(&mut self) {
        if let Some(growth) = &mut self.growth {
            growth.was_full = true;
        }
    }

    /// So many messages are settled.
    pub fn note_settled(&mut self, settled: u64) {
        if self.growth.is_some() && settled > 0 {
            self.measure(settled, Instant::now());
        }
    }

    fn measure(&mut self, settled: u64, now: Instant) {
        let Some(growth) = &mut self.growth else { return };
        growth.settled += settled;
        let elapsed = now.duration_since(*growth.since.get_or_insert(now));
        if elapsed < PERIOD || growth.settled < 2 * self.count {
            return;
        }
        let rate = (u128::from(growth.settled) * 1_000_000_000 / elapsed.as_nanos().max(1)) as u64;
        let was_full = std::mem::take(&mut growth.was_full);
        (growth.since, growth.settled) = (Some(now), 0);
        if !was_full {
            // What limits it is not the window.
            return;
        }
        let is_better = rate > growth.rate_before + growth.rate_before / 100 * GAIN_PERCENT;
        if growth.is_trial && !is_better {
            self.count /= 2;
            (growth.is_trial, growth.patience) = (false, PATIENCE);
        } else if growth.patience > 0 {
            growth.patience -= 1;
            growth.rate_before = rate;
        } else if self.count < self.count_max {
            growth.rate_before = rate;
            growth.is_trial = true;
            self.count = (self.count * 2).min(self.count_max);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a window against receivers that settle `rate` messages a second at most, with the given way from there and
    /// back; returns where it ends.
    fn run(rate: f64, way: Duration, is_full: bool) -> u64 {
        let mut window = Window::new(100_000, true);
        let mut now = Instant::now();
        for _ in 0..3000 {
            // A window is settled in as long as its way and its work take.
            let work = window.count() as f64 / rate;
            now += Duration::from_secs_f64(work.max(way.as_secs_f64()));
            if is_full {
                window.note_full();
            }
            window.measure(window.count(), now);
        }
        window.count()
    }

    #[test]
    fn it_grows_while_that_brings_more() {
        // 100 us there and back: a million a second needs 100.
        let narrow = run(1e6, Duration::from_micros(100), true);
        assert!(narrow <= 256, "{narrow}");
        // 10 ms: it needs 10,000.
        let wide = run(1e6, Duration::from_millis(10), true);
        assert!((8192..=32_768).contains(&wide), "{wide}");
        assert_eq!(run(1e9, Duration::from_millis(10), true), 100_000, "its bound is its bound");
    }

    #[test]
    fn it_stays_where_it_is_not_what_limits() {
        assert_eq!(run(1e9, Duration::from_millis(10), false), WINDOW_MIN);
    }

    #[test]
    fn a_number_stays_what_it_is() {
        let mut window = Window::new(7, false);
        window.note_full();
        (1..100).for_each(|ms| window.measure(1000, Instant::now() + Duration::from_millis(ms)));
        assert_eq!(window.count(), 7);
        assert_eq!(Window::new(0, false).count(), 1);
    }
}
