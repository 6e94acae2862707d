//! `Window`: how many messages of a PUSH may be unsettled: a number, or as many as throughput grows with.
//!
//! One that grows is doubled as long as that brings more messages settled per second, measured while senders have to wait
//! for room. From when a doubling has brought nothing, another is tried now and then, and whether half would do: turn by turn
//! with the present window, several times, since rates differ from one moment to the next. What was under way when the window
//! changed is not measured: settled a moment later, it would speak for a window that it was not sent with.

use std::time::{Duration, Instant};

/// What a window that grows begins with.
const WINDOW_MIN: u64 = 128;
/// The shortest time over which a rate is measured, and how many windows are to be settled in it.
const PERIOD: Duration = Duration::from_millis(1);
const PERIOD_WINDOWS: u64 = 2;
/// What a doubling has to bring, and a halving may cost, in percent: where windows are small beside what is lost on the way,
/// a doubling brings ten or twenty, which is no more than what rates differ by.
const GAIN_PERCENT: u128 = 2;
/// Doublings in a row that bring nothing before they are tried now and then only, and with care.
const FAILURES_MAX: u32 = 3;
/// How often the other window and the present one are then compared.
const ROUNDS: u32 = 3;
/// Measurements between two trials then.
const PAUSE: u32 = 16;

/// The most messages that may be unsettled now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    count: u64,
    count_max: u64,
    /// `Some` where it grows.
    growth: Option<Growth>,
}

#[derive(Clone, Copy, Debug)]
struct Growth {
    /// The window that has proved its worth.
    base: u64,
    /// Whether the other one is twice as large; else half.
    is_up: bool,
    /// Doublings that have brought nothing, up to [`FAILURES_MAX`].
    failures: u32,
    /// Messages settled per second, in sum, with the base and with the other one, and measurements so far.
    rates: [u128; 2],
    taken: u32,
    /// Measurements until the next trial.
    pause: u32,
    since: Option<Instant>,
    settled: u64,
    /// Messages to be settled before the next measurement begins: they were under way when the window changed.
    left_over: u64,
    /// Whether a sender had to wait for room.
    was_full: bool,
}

impl Window {
    pub fn new(count_max: usize, grows: bool) -> Window {
        let count_max = count_max.max(1) as u64;
        let base = WINDOW_MIN.min(count_max);
        let growth = Growth {
            base,
            is_up: true,
            failures: 0,
            rates: [0; 2],
            taken: 0,
            pause: 0,
            since: None,
            settled: 0,
            left_over: 0,
            was_full: false,
        };
        Window { count: if grows { base } else { count_max }, count_max, growth: grows.then_some(growth) }
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
        let (count, count_max) = (self.count, self.count_max);
        let Some(growth) = &mut self.growth else { return };
        if growth.left_over > 0 {
            growth.left_over = growth.left_over.saturating_sub(settled);
            growth.since = Some(now);
            return;
        }
        growth.settled += settled;
        let elapsed = now.duration_since(*growth.since.get_or_insert(now));
        if elapsed < PERIOD || growth.settled < PERIOD_WINDOWS * count {
            return;
        }
        let rate = u128::from(growth.settled) * 1_000_000_000 / elapsed.as_nanos();
        let was_full = std::mem::take(&mut growth.was_full);
        (growth.since, growth.settled) = (Some(now), 0);
        // Where nobody had to wait, something else is what limits.
        if was_full {
            self.count = growth.next(rate, count_max);
            growth.left_over = if self.count == count { 0 } else { self.count.max(count) };
        }
    }
}

impl Growth {
    /// The window for the next measurement.
    fn next(&mut self, rate: u128, count_max: u64) -> u64 {
        if self.pause > 0 {
            self.pause -= 1;
            return self.base;
        }
        let other = if self.is_up { (self.base * 2).min(count_max) } else { (self.base / 2).max(1) };
        self.rates[(self.taken % 2) as usize] += rate;
        self.taken += 1;
        let is_early = self.failures < FAILURES_MAX;
        let rounds = if is_early { 1 } else { ROUNDS };
        if self.taken < 2 * rounds {
            return if self.taken.is_multiple_of(2) { self.base } else { other };
        }
        let [before, with_other] = std::mem::take(&mut self.rates).map(|rate| rate * 100);
        let is_worth_it = if self.is_up {
            with_other > before / 100 * (100 + GAIN_PERCENT)
        } else {
            with_other > before / 100 * (100 - GAIN_PERCENT)
        };
        self.taken = 0;
        if is_worth_it && other != self.base {
            self.base = other;
            self.failures = if is_early { 0 } else { self.failures };
        } else if is_early && self.failures + 1 < FAILURES_MAX {
            self.failures += 1;
        } else {
            (self.failures, self.is_up, self.pause) = (FAILURES_MAX, !self.is_up, PAUSE);
        }
        self.base
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
        let mut under_way = window.count();
        for _ in 0..30_000 {
            // A window is settled in as long as its way and its work take, and what was sent meanwhile is the next.
            let settled = std::mem::replace(&mut under_way, window.count());
            let work = settled as f64 / rate;
            now += Duration::from_secs_f64(work.max(way.as_secs_f64()));
            if is_full {
                window.note_full();
            }
            window.measure(settled, now);
        }
        window.growth.unwrap().base
    }

    #[test]
    fn it_grows_while_that_brings_more() {
        // 100 us there and back: a million a second needs 100.
        let narrow = run(1e6, Duration::from_micros(100), true);
        assert!((64..=256).contains(&narrow), "{narrow}");
        // 10 ms: it needs 10,000.
        let wide = run(1e6, Duration::from_millis(10), true);
        assert!((8192..=32_768).contains(&wide), "{wide}");
        let bound = run(1e9, Duration::from_millis(10), true);
        assert!((50_000..=100_000).contains(&bound), "{bound}");
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
