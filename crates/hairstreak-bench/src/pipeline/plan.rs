//! How many tasks are in flight in each row, and how many make a sample: by default, with `--quick` and with filters.

use super::task::Scheme;
use crate::arguments::PipelineSettings;

/// The article's sizes, and one by one, which its readers asked for.
const IN_FLIGHT_COUNTS: [u64; 6] = [1_000_000, 1_000, 100, 50, 10, 1];
/// As many in flight as the article sent: no flow control.
pub const UNBOUNDED_COUNT: u64 = 1_000_000;
/// What ours is given where the others are unbounded: a window holds memory, so it has a bound.
const WINDOW_COUNT_MAX: u64 = 100_000;
const TASK_COUNT: u64 = 1_000_000;
/// One by one a million would take minutes.
const TASK_COUNT_SINGLE: u64 = 100_000;
const REPEAT_COUNT: u32 = 5;
const REPEAT_COUNT_QUICK: u32 = 3;
/// A block scheme needs some blocks for a rate.
const BLOCK_COUNT_MIN: u64 = 10;

/// What ours has to reach: so many times the rate of libzmq's batches, by what is in flight.
const TARGETS: [(u64, f64); 4] = [(10, 2.5), (100, 3.0), (1_000, 5.0), (UNBOUNDED_COUNT, 4.0)];

/// Everything to be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// In flight, a row each, descending.
    pub in_flight_counts: Vec<u64>,
    /// Samples of each row, per contender.
    pub repeat_count: u32,
    task_count: Option<u64>,
    is_quick: bool,
}

impl Plan {
    /// The plan for `settings`.
    pub fn new(settings: &PipelineSettings) -> Self {
        let asked = &settings.in_flight_counts;
        let mut in_flight_counts = if asked.is_empty() { IN_FLIGHT_COUNTS.to_vec() } else { asked.to_vec() };
        in_flight_counts.sort_unstable_by(|one, other| other.cmp(one));
        in_flight_counts.dedup();
        let repeat_count = if settings.quick { REPEAT_COUNT_QUICK } else { REPEAT_COUNT };
        Self {
            in_flight_counts,
            repeat_count: settings.repeats.unwrap_or(repeat_count),
            task_count: settings.task_count,
            is_quick: settings.quick,
        }
    }

    /// Tasks of a sample.
    pub fn task_count(&self, scheme: Scheme, in_flight_count: u64) -> u64 {
        if let Some(count) = self.task_count {
            return count;
        }
        let count = match in_flight_count {
            0..10 if self.is_quick => 4_000,
            10..100 if self.is_quick => 20_000,
            100..1_000 if self.is_quick => 100_000,
            1_000..10_000 if self.is_quick => 400_000,
            0..10 => TASK_COUNT_SINGLE,
            _ => TASK_COUNT,
        };
        match scheme {
            Scheme::Window | Scheme::Batches => count,
            Scheme::Blocks => count.max(BLOCK_COUNT_MIN * in_flight_count),
        }
    }
}

/// What a scheme is given as its window, batch or block, where so many are to be in flight.
pub fn bound(scheme: Scheme, in_flight_count: u64) -> u64 {
    match scheme {
        Scheme::Window => in_flight_count.min(WINDOW_COUNT_MAX),
        Scheme::Batches | Scheme::Blocks => in_flight_count,
    }
}

/// What ours has to reach with so many in flight, if anything was said.
pub fn target(in_flight_count: u64) -> Option<f64> {
    TARGETS.iter().find(|(count, _)| *count == in_flight_count).map(|(_, target)| *target)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{Plan, Scheme, UNBOUNDED_COUNT, bound, target};
    use crate::arguments::{Arguments, Benchmark};

    fn plan(options: &str) -> Plan {
        let line = format!("hairstreak-bench pipeline {options}");
        match Arguments::parse_from(line.split_whitespace()).benchmark {
            Benchmark::Pipeline(settings) => Plan::new(&settings),
            other => panic!("not the benchmark: {other:?}"),
        }
    }

    #[test]
    fn the_full_plan_has_the_sizes_and_the_tasks_of_the_article() {
        let plan = plan("");
        assert_eq!(plan.in_flight_counts, [1_000_000, 1_000, 100, 50, 10, 1]);
        assert_eq!(plan.repeat_count, 5);
        for count in [1_000_000, 1_000, 100, 50, 10] {
            assert_eq!(plan.task_count(Scheme::Batches, count), 1_000_000);
            assert_eq!(plan.task_count(Scheme::Window, count), 1_000_000);
        }
    }

    #[test]
    fn the_quick_plan_has_the_same_rows_of_fewer_tasks() {
        let (full, quick) = (plan(""), plan("--quick"));
        assert_eq!(quick.in_flight_counts, full.in_flight_counts);
        for count in [1_000, 100, 50, 10, 1] {
            let tasks = |plan: &Plan| plan.task_count(Scheme::Window, count);
            assert!(tasks(&quick) * 2 <= tasks(&full), "{count}");
            assert!(tasks(&quick) >= 100 * count, "{count}");
        }
    }

    #[test]
    fn filters_are_put_in_order() {
        let plan = plan("--in-flight 5,70,5 --tasks 300 --repeat 9");
        assert_eq!((&plan.in_flight_counts[..], plan.repeat_count), (&[70, 5][..], 9));
        assert_eq!([Scheme::Window, Scheme::Blocks].map(|scheme| plan.task_count(scheme, 70)), [300, 300]);
    }

    #[test]
    fn a_window_has_a_bound_and_a_batch_has_none() {
        let schemes = [Scheme::Window, Scheme::Batches, Scheme::Blocks];
        assert_eq!(schemes.map(|scheme| bound(scheme, 50)), [50; 3]);
        assert_eq!(schemes.map(|scheme| bound(scheme, UNBOUNDED_COUNT)), [100_000, 1_000_000, 1_000_000]);
    }

    #[test]
    fn targets_are_those_of_the_rows_that_have_one() {
        assert_eq!(
            [10, 50, 100, 1_000, UNBOUNDED_COUNT].map(target),
            [Some(2.5), None, Some(3.0), Some(5.0), Some(4.0)]
        );
    }
}
