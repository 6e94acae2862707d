//! The clock of all processes, and latencies by their size, to three per cent or so: 32 steps for each power of two.

use anyhow::Result;
use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::{Timespec, clock_gettime};

const NS_PER_S: u64 = 1_000_000_000;

const STEP_BITS: u32 = 5;
const STEP_COUNT: usize = 1 << STEP_BITS;

/// Returns the time of the system's monotonic clock in nanoseconds.
#[inline]
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * NS_PER_S + now.tv_nsec.unsigned_abs()
}

/// Sleeps until it is `end_ns`.
pub fn sleep_until(end_ns: u64) -> Result<()> {
    let end = Timespec { tv_sec: (end_ns / NS_PER_S) as _, tv_nsec: (end_ns % NS_PER_S) as _ };
    Ok(rustix::io::retry_on_intr(|| clock_nanosleep_absolute(ClockId::Monotonic, &end))?)
}

/// Percentiles of latencies: the key and the heading in reports, and the share of messages that take no longer.
pub const PERCENTILES: [(&str, &str, f64); 3] =
    [("p50_us", "p50 us", 0.5), ("p99_us", "p99 us", 0.99), ("p999_us", "p99.9 us", 0.999)];

/// The values of [`PERCENTILES`], in microseconds.
pub type Latency = [f64; 3];

/// Counts of latencies.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Self { counts: vec![0; (u64::BITS as usize + 1) * STEP_COUNT], total: 0 }
    }

    /// Counts a latency in nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.counts[index(ns)] += 1;
        self.total += 1;
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.total += other.total;
    }

    /// Returns percentiles of the counted values; `None` if nothing was counted.
    pub fn latency(&self) -> Option<Latency> {
        let us = |share: f64| self.quantile(share) as f64 / 1e3;
        (self.total > 0).then(|| PERCENTILES.map(|(_, _, share)| us(share)))
    }

    /// The least latency that `share` of all do not exceed, as exact as the steps are.
    fn quantile(&self, share: f64) -> u64 {
        let rank = (self.total as f64 * share).ceil() as u64;
        let mut seen = 0;
        let index = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank.max(1)
        });
        value(index.unwrap_or_default())
    }
}

/// The step of a value: the value itself if it is small, else its highest bits.
#[inline]
fn index(ns: u64) -> usize {
    let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(STEP_BITS + 1);
    (shift as usize) * STEP_COUNT + (ns >> shift) as usize
}

/// The least value of a step.
fn value(index: usize) -> u64 {
    let shift = (index / STEP_COUNT).saturating_sub(1);
    ((index - shift * STEP_COUNT) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::{Histogram, index, value};

    #[test]
    fn steps_are_small_and_in_order() {
        for ns in [0, 1, 31, 32, 63, 64, 100, 1_000, 123_456, 7_000_000_000, u64::MAX] {
            let least = value(index(ns));
            assert!(least <= ns && ns - least <= ns / 32, "{ns} {least}");
        }
        assert!((0..100_000).is_sorted_by_key(index));
    }

    #[test]
    fn quantiles_are_those_of_what_was_recorded() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.latency(), None);
        (1..=1000).for_each(|us| histogram.record(us * 1_000));
        let latency = histogram.latency().unwrap();
        for (found, expected) in latency.into_iter().zip([500.0, 990.0, 999.0]) {
            assert!(found <= expected && found > expected * 0.96, "{found} {expected}");
        }
        let mut both = Histogram::new();
        both.add(&histogram);
        both.add(&histogram);
        assert_eq!(both.latency().unwrap()[0], latency[0]);
    }
}
