//! `Pace`: a worker's time for a task, and the decision to tell the ventilator.

use std::time::Duration;

/// Number of tasks after which earlier tasks weigh half.
const COUNT_TO_HALVE: u64 = 4096;
/// The ventilator hears of a pace that is slower or faster by this factor than it knows.
const CHANGE_FACTOR: u64 = 2;

/// The average time of the last tasks.
#[derive(Debug, Default)]
pub(super) struct Pace {
    nanos: u64,
    count: u64,
    /// Nanoseconds for a task, as the ventilator knows them.
    told: Option<u64>,
}

impl Pace {
    /// Notes that `count` tasks took `time`. Returns the pace if the ventilator should be told.
    pub fn note(&mut self, time: Duration, count: u64) -> Option<Duration> {
        self.nanos = self.nanos.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        self.count += count;
        let pace = self.nanos.checked_div(self.count)?.max(1);
        if self.count >= COUNT_TO_HALVE {
            (self.nanos, self.count) = (self.nanos / 2, self.count / 2);
        }
        let is_known = |told: u64| {
            pace < told.saturating_mul(CHANGE_FACTOR) && told < pace.saturating_mul(CHANGE_FACTOR)
        };
        if self.told.is_some_and(is_known) {
            return None;
        }
        self.told = Some(pace);
        Some(Duration::from_nanos(pace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ventilator_hears_of_the_first_pace_and_of_one_that_is_quite_different() {
        let mut pace = Pace::default();
        let micros = |micros: u64| Duration::from_micros(micros);
        assert_eq!(pace.note(micros(10), 0), None);
        assert_eq!(pace.note(micros(90), 10), Some(micros(10)));
        assert_eq!(pace.note(micros(150), 10), None);
        assert_eq!(pace.note(micros(9750), 380), Some(micros(25)));
        for _ in 0..1000 {
            assert!(pace.note(micros(1000), 100).is_none_or(|pace| pace < micros(15)));
        }
        assert_eq!(pace.told, Some(12_500), "half of what it was told");
        assert!(pace.note(Duration::MAX, 1).is_some());
    }
}
