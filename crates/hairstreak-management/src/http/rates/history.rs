//! `History`: the values of some counters over a day, at fewer points the older they are.
//!
//! | every | for | points |
//! |---|---|---|
//! | 5 s | 10 minutes | 120 |
//! | 1 minute | 1 hour | 60 |
//! | 10 minutes | 8 hours | 48 |
//! | 30 minutes | 1 day | 48 |
//!
//! Counters have been 0 before the history begins. Memory: 280 points of 8 bytes for each counter and 24 bytes, so 62 KiB for 25 counters.

use std::collections::VecDeque;

use super::counters::{Detail, rate};
use crate::http::list::Range;

/// Milliseconds between two samples.
pub(crate) const INTERVAL_MS: u64 = 5000;
/// The steps in milliseconds and the numbers of points, as RabbitMQ keeps them.
const LEVELS: [(u64, usize); 4] = [(INTERVAL_MS, 120), (60_000, 60), (600_000, 48), (1_800_000, 48)];

/// The values of counters over time.
#[derive(Clone, Debug)]
pub(crate) struct History {
    levels: [VecDeque<Point>; LEVELS.len()],
    begin_ms: u64,
}

/// The values of all counters at one time.
#[derive(Clone, Debug)]
struct Point {
    at_ms: u64,
    values: Box<[u64]>,
}

impl History {
    /// A history that begins at this time, with counters at 0.
    pub(crate) fn new(begin_ms: u64) -> History {
        History { levels: Default::default(), begin_ms }
    }

    /// Adds the values of all counters. A time that is not later than the last one is passed over.
    pub(crate) fn add(&mut self, at_ms: u64, values: &[u64]) {
        for (level, (step, count)) in self.levels.iter_mut().zip(LEVELS) {
            let is_due = level.back().is_none_or(|last| at_ms / step > last.at_ms / step);
            if !is_due {
                continue;
            }
            // One point more than is shown: the value at the beginning of the oldest step.
            if level.len() > count {
                level.pop_front();
            }
            level.push_back(Point { at_ms, values: values.into() });
        }
    }

    /// The rate of a counter, and its samples for a range.
    pub(crate) fn detail(&self, counter: usize, range: Option<Range>, now_ms: u64) -> Detail {
        let samples =
            range.map(|range| range.times(now_ms).map(|time| (time, self.at(counter, time))).collect());
        Detail { rate: self.rate(counter), samples }
    }

    fn rate(&self, counter: usize) -> f64 {
        let mut latest = self.levels[0].iter().rev().map(|point| (point.at_ms, value(point, counter)));
        match (latest.next(), latest.next()) {
            (Some(last), Some(before)) => rate(before, last),
            (Some(last), None) => rate((self.begin_ms, 0), last),
            _ => 0.0,
        }
    }

    /// The value at a time: that of the last point before it, at the finest level that reaches so far back.
    fn at(&self, counter: usize, time_ms: u64) -> u64 {
        if time_ms < self.begin_ms {
            return 0;
        }
        for level in &self.levels {
            let count = level.partition_point(|point| point.at_ms <= time_ms);
            if let Some(point) = count.checked_sub(1).and_then(|index| level.get(index)) {
                return value(point, counter);
            }
        }
        // Before the first point of a young history the counters were 0; an old one has forgotten.
        let oldest = self.levels[LEVELS.len() - 1].front();
        let is_young = oldest.is_none_or(|point| point.at_ms < self.begin_ms + 2 * INTERVAL_MS);
        if is_young { 0 } else { oldest.map_or(0, |point| value(point, counter)) }
    }
}

fn value(point: &Point, counter: usize) -> u64 {
    point.values.get(counter).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::http::list::Ranges;
    use crate::http::request::Query;

    const BEGIN: u64 = 1_800_000_000_000;

    /// A counter that grows by 10 every second and one that is a measure, sampled every five seconds.
    fn history(seconds: u64) -> History {
        let mut history = History::new(BEGIN);
        for second in (5..=seconds).step_by(5) {
            history.add(BEGIN + second * 1000, &[10 * second, 1000 - second % 1000]);
        }
        history
    }

    fn range(age: u64, step: u64) -> Option<Range> {
        Ranges::parse(&Query::parse(&format!("lengths_age={age}&lengths_incr={step}"))).unwrap().lengths
    }

    #[test]
    fn a_rate_is_that_of_the_last_two_samples() {
        let history = history(20);
        assert_eq!(history.detail(0, None, BEGIN + 21_000), Detail::of_rate(10.0));
        assert_eq!(history.detail(1, None, BEGIN + 21_000), Detail::of_rate(-1.0));
        assert_eq!(history.detail(7, None, BEGIN + 21_000), Detail::of_rate(0.0));
        assert_eq!(History::new(BEGIN).detail(0, None, BEGIN), Detail::of_rate(0.0));
    }

    /// The shape and the arithmetic of RabbitMQ 3.10.8.
    #[test]
    fn a_range_has_samples_and_means() {
        let detail = history(20).detail(0, range(20, 5), BEGIN + 22_000);
        let sample = |second: u64| json!({"sample": 10 * second, "timestamp": BEGIN + second * 1000});
        let samples: Vec<_> = [20, 15, 10, 5, 0].map(sample).into();
        let expected = json!({"rate": 10.0, "samples": samples, "avg": 100.0, "avg_rate": 10.0});
        assert_eq!(serde_json::to_value(detail).unwrap(), expected);
        let detail = history(20).detail(0, range(60, 10), BEGIN + 22_000);
        assert_eq!(detail.samples.unwrap().last(), Some(&(BEGIN - 40_000, 0)));
    }

    #[test]
    fn older_samples_are_farther_apart_and_memory_is_bounded() {
        let history = history(100_000);
        for (level, (_, count)) in history.levels.iter().zip(LEVELS) {
            assert_eq!(level.len(), count + 1);
        }
        let now = BEGIN + 100_000_000;
        for (age, step, error) in [(600, 5, 0), (3600, 60, 600), (28_800, 600, 6000), (86_400, 1800, 18_000)]
        {
            let samples = history.detail(0, range(age, step), now).samples.unwrap();
            assert_eq!(samples.len() as u64, age / step + 1);
            for (time, value) in samples {
                let expected = (time - BEGIN) / 100;
                assert!(value <= expected && value + error >= expected, "{age}: {time} {value} {expected}");
            }
        }
    }
}
