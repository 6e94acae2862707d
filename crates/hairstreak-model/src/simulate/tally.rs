//! `Tally`: the counts of a simulation: messages that wait or are in flight, latencies, and times of results.

/// A number that changes with time, with its mean and its maximum.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    now: u64,
    max: u64,
    since: u64,
    area: f64,
}

impl Level {
    pub(super) fn change(&mut self, at: u64, by: i64) {
        self.area += self.now as f64 * (at - self.since) as f64;
        self.since = at;
        self.now = self.now.wrapping_add_signed(by);
        self.max = self.max.max(self.now);
    }

    pub(super) fn max(&self) -> u64 {
        self.max
    }

    /// The mean from 0 to `end`.
    pub(super) fn mean(&self, end: u64) -> f64 {
        let area = self.area + self.now as f64 * end.saturating_sub(self.since) as f64;
        if end == 0 { 0.0 } else { area / end as f64 }
    }
}

/// The counts of the whole pipeline.
pub(super) struct Tally {
    /// Waiting messages of each step.
    pub(super) waiting: Vec<Level>,
    pub(super) in_flight: Level,
    /// The start of each message, in order.
    pub(super) began: Vec<u64>,
    /// The latency of each message, in the order of results.
    pub(super) latencies: Vec<u64>,
    /// The time of each result, in order.
    pub(super) ended: Vec<u64>,
    /// CPU time, of all servers together.
    pub(super) work_ns: f64,
    /// The time for which the full window stopped the source.
    pub(super) window_ns: u64,
    /// The time for which the shared resource of each step was held.
    pub(super) held_ns: Vec<u64>,
}

impl Tally {
    pub(super) fn new(steps: usize, messages: u64) -> Tally {
        let capacity = messages as usize;
        Tally {
            waiting: vec![Level::default(); steps],
            in_flight: Level::default(),
            began: Vec::with_capacity(capacity),
            latencies: Vec::with_capacity(capacity),
            ended: Vec::with_capacity(capacity),
            work_ns: 0.0,
            window_ns: 0,
            held_ns: vec![0; steps],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_has_a_mean_over_time() {
        let mut level = Level::default();
        level.change(10, 4);
        level.change(20, -3);
        assert_eq!(level.max(), 4);
        assert_eq!(level.mean(40), (4.0 * 10.0 + 1.0 * 20.0) / 40.0);
        assert_eq!(Level::default().mean(0), 0.0);
    }
}
