//! `Tally`: what is counted while messages pass: how many wait or are on their way, how long each takes, and when results come.

/// A number that changes with time: its mean and its maximum.
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

    /// From the beginning to `end`.
    pub(super) fn mean(&self, end: u64) -> f64 {
        let area = self.area + self.now as f64 * end.saturating_sub(self.since) as f64;
        if end == 0 { 0.0 } else { area / end as f64 }
    }
}

/// The counts of the whole pipeline.
pub(super) struct Tally {
    /// Messages that wait, step by step.
    pub(super) waiting: Vec<Level>,
    pub(super) in_flight: Level,
    /// When each message began, in order.
    pub(super) began: Vec<u64>,
    /// How long each took, and when its result came, in the order of results.
    pub(super) latencies: Vec<u64>,
    pub(super) ended: Vec<u64>,
    /// Work done on cores.
    pub(super) work_ns: f64,
    /// For how long the source could not send because of the window.
    pub(super) window_ns: u64,
    /// For how long what a step shares was held, step by step.
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
