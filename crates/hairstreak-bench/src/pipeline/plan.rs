//! The plan of the pipeline study: the tasks in flight in each row, the time of a task, and the tasks of a sample. The
//! plan has defaults, `--quick` and filters.

use std::ops::RangeInclusive;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::frame::{Common, RivalOptions, sorted};

/// The options of `hairstreak-bench pipeline`.
#[derive(Clone, Debug, Args)]
pub struct Settings {
    /// Draw charts too, pipeline.svg and one for each time that tasks take, in this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<String>,
    /// Only with so many tasks in flight [default: 1000000 (no flow control),1000,100,50,10,1]
    #[arg(long = "in-flight", value_delimiter = ',', value_name = "COUNT",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub in_flight_counts: Vec<u64>,
    /// Only tasks that take a worker so many microseconds, at most 10000 [default: 0,10,100,1000; those that take time with
    /// 10 to 1000 in flight]
    #[arg(long = "task-us", value_delimiter = ',', value_name = "US",
        value_parser = clap::value_parser!(u64).range(0..=10_000))]
    pub task_us: Vec<u64>,
    /// The transport
    #[arg(long, value_enum, default_value = "tcp")]
    pub transport: Transport,
    /// Tasks of each sample, fewer where that would take too long [default: by what is in flight]
    #[arg(long = "tasks", value_name = "COUNT", value_parser = clap::value_parser!(u64).range(10..=100_000_000))]
    pub task_count: Option<u64>,
    /// Sampling and output.
    #[command(flatten)]
    pub common: Common,
    /// The rival.
    #[command(flatten)]
    pub rival: RivalOptions,
}

/// The transport of tasks and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// TCP on the loopback interface
    Tcp,
    /// Unix sockets with abstract names; ours go on in shared memory
    Ipc,
}

impl Transport {
    /// Returns an endpoint at which this process may listen. `socket` distinguishes its sockets.
    pub fn free_endpoint(self, socket: &str) -> String {
        match self {
            Self::Tcp => "tcp://127.0.0.1:*".to_owned(),
            Self::Ipc => format!("ipc://@hairstreak-bench-{}-{socket}", std::process::id()),
        }
    }
}

/// The ventilator's way to learn of finished tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// Ours: each task is settled by itself, and a window of tasks may be unsettled.
    Window,
    /// libzmq, PUSH and PULL: a batch of tasks, then one acknowledgement from the sink.
    Batches,
    /// libzmq, REQ and REP: a block of tasks in one message, then its reply, from the sink through the worker.
    Blocks,
}

impl Scheme {
    /// The name in messages to people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Window => "hairstreak, window",
            Self::Batches => "libzmq, batches",
            Self::Blocks => "libzmq, REQ/REP blocks",
        }
    }
}

/// Bytes of a task: its number.
pub const TASK_SIZE: usize = 8;
/// Workers of every pipeline.
pub const WORKER_COUNT: usize = 4;

/// The article's sizes, and one by one, which its readers asked for.
const IN_FLIGHT_COUNTS: [u64; 6] = [1_000_000, 1_000, 100, 50, 10, 1];
/// As many in flight as the article sent: no flow control. There the window of ours grows by itself.
pub const UNBOUNDED_COUNT: u64 = 1_000_000;
/// Times of the tasks, in microseconds.
const TASK_US: [u64; 4] = [0, 10, 100, 1_000];
/// Numbers in flight for tasks that take time. With one in flight only one worker works, and unbounded numbers have no
/// use.
const TIMED_IN_FLIGHT: RangeInclusive<u64> = 10..=1_000;
/// The length of a sample of tasks that take time, if all workers work all the time: in full and with `--quick`.
const TIMED_SAMPLE_US: [u64; 2] = [1_000_000, 300_000];
/// Tasks of a sample with so many in flight or more: in full and with `--quick`.
///
/// At millions a second a sample of fewer would be over before the scheduler has spread the processes. One by one a
/// million would take minutes.
const TASK_COUNTS: [(u64, [u64; 2]); 5] = [
    (10_000, [1_000_000, 1_000_000]),
    (1_000, [5_000_000, 2_000_000]),
    (100, [1_000_000, 100_000]),
    (10, [1_000_000, 20_000]),
    (1, [100_000, 4_000]),
];
/// The growth of a window must not dominate the measurement.
const TASK_COUNT_GROWING: u64 = 10_000_000;
const REPEAT_COUNT: u32 = 5;
const REPEAT_COUNT_QUICK: u32 = 3;
/// A block scheme needs some blocks for a rate.
const BLOCK_COUNT_MIN: u64 = 10;

/// Targets for Hairstreak: multiples of the rate of libzmq's batches, by the number in flight.
const TARGETS: [(u64, f64); 4] = [(10, 2.5), (100, 3.0), (1_000, 5.0), (UNBOUNDED_COUNT, 4.0)];

/// The settings that all contenders of a row share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Tasks in flight: the window, the batch or the block.
    pub in_flight_count: u64,
    /// The time that a worker spends on a task, in microseconds.
    pub task_us: u64,
}

impl Row {
    /// Returns the contenders of the row. A block keeps only one of four workers busy at any time, so blocks are no
    /// contender if tasks take time.
    pub fn schemes(self, has_rival: bool) -> &'static [Scheme] {
        match (has_rival, self.task_us) {
            (false, _) => &[Scheme::Window],
            (true, 0) => &[Scheme::Window, Scheme::Batches, Scheme::Blocks],
            (true, _) => &[Scheme::Window, Scheme::Batches],
        }
    }

    /// Returns the window of ours; `None` if it grows by itself.
    pub fn window(self) -> Option<u64> {
        (self.in_flight_count != UNBOUNDED_COUNT).then_some(self.in_flight_count)
    }

    /// Returns the target of ours: its rate in times of libzmq's batches.
    pub fn target(self) -> Option<f64> {
        let said = TARGETS.iter().find(|(count, _)| *count == self.in_flight_count);
        said.filter(|_| self.task_us == 0).map(|(_, target)| *target)
    }
}

impl Settings {
    /// The rows, by the time of a task, shorter times first. Rows of equal times have more in flight first.
    pub fn rows(&self) -> Vec<Row> {
        let in_flight_counts = sorted(&self.in_flight_counts, &IN_FLIGHT_COUNTS);
        let is_asked = !self.in_flight_counts.is_empty();
        let is_row =
            |row: &Row| row.task_us == 0 || is_asked || TIMED_IN_FLIGHT.contains(&row.in_flight_count);
        let rows_of = |task_us| {
            let counts = in_flight_counts.iter().rev();
            counts.map(move |&in_flight_count| Row { in_flight_count, task_us }).filter(is_row)
        };
        sorted(&self.task_us, &TASK_US).into_iter().flat_map(rows_of).collect()
    }

    /// Samples of each row, per contender.
    pub fn repeat_count(&self) -> u32 {
        self.common.repeat_count(REPEAT_COUNT, REPEAT_COUNT_QUICK)
    }

    /// Tasks of a sample.
    pub fn task_count(&self, scheme: Scheme, row: Row) -> u64 {
        let quick = usize::from(self.common.quick);
        let at_least = TASK_COUNTS.iter().find(|(count, _)| row.in_flight_count >= *count);
        let default_count = at_least.map_or(0, |(_, counts)| counts[quick]);
        let default_count = match scheme {
            Scheme::Window if row.window().is_none() => TASK_COUNT_GROWING,
            Scheme::Window | Scheme::Batches => default_count,
            Scheme::Blocks => default_count.max(BLOCK_COUNT_MIN * row.in_flight_count),
        };
        let count = self.task_count.unwrap_or(default_count);
        match row.task_us {
            0 => count,
            task_us => count.min(TIMED_SAMPLE_US[quick] * WORKER_COUNT as u64 / task_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Row, Scheme, Settings, UNBOUNDED_COUNT};
    use crate::frame::parse;

    fn plan(options: &str) -> Settings {
        parse(options)
    }

    fn row(in_flight_count: u64, task_us: u64) -> Row {
        Row { in_flight_count, task_us }
    }

    fn in_flight_counts(plan: &Settings, task_us: u64) -> Vec<u64> {
        let rows = plan.rows().into_iter().filter(|row| row.task_us == task_us);
        rows.map(|row| row.in_flight_count).collect()
    }

    #[test]
    fn the_full_plan_has_the_sizes_and_the_tasks_of_the_article() {
        let plan = plan("");
        assert_eq!(in_flight_counts(&plan, 0), [1_000_000, 1_000, 100, 50, 10, 1]);
        assert_eq!(plan.repeat_count(), 5);
        assert_eq!(plan.task_count(Scheme::Batches, row(1_000_000, 0)), 1_000_000);
        for (count, task_count) in [(1_000, 5_000_000), (100, 1_000_000), (50, 1_000_000), (10, 1_000_000)] {
            let counts =
                [Scheme::Window, Scheme::Batches].map(|scheme| plan.task_count(scheme, row(count, 0)));
            assert_eq!(counts, [task_count; 2]);
        }
    }

    #[test]
    fn tasks_that_take_time_have_the_sizes_of_the_article_and_none_without_flow_control() {
        for options in ["", "--quick"] {
            let plan = plan(options);
            assert!(plan.rows().is_sorted_by_key(|row| row.task_us));
            for task_us in [10, 100, 1_000] {
                assert_eq!(in_flight_counts(&plan, task_us), [1_000, 100, 50, 10], "{options} {task_us}");
            }
            assert_eq!(plan.rows().len(), 6 + 3 * 4);
        }
    }

    #[test]
    fn tasks_that_take_time_are_as_many_as_four_workers_do_in_a_sample() {
        let (full, quick) = (plan(""), plan("--quick"));
        let counts = |plan: &Settings, task_us| plan.task_count(Scheme::Window, row(1_000, task_us));
        assert_eq!([10, 100, 1_000].map(|task_us| counts(&full, task_us)), [400_000, 40_000, 4_000]);
        assert_eq!([10, 100, 1_000].map(|task_us| counts(&quick, task_us)), [120_000, 12_000, 1_200]);
        // With few in flight no contender does more tasks in that time.
        assert_eq!(quick.task_count(Scheme::Batches, row(10, 10)), 20_000);
        assert_eq!(plan("--quick --tasks 300").task_count(Scheme::Window, row(10, 1_000)), 300);
        assert_eq!(plan("--tasks 1000000").task_count(Scheme::Window, row(10, 1_000)), 4_000);
    }

    #[test]
    fn blocks_are_measured_only_where_tasks_take_no_time() {
        let schemes = |task_us, has_rival| row(10, task_us).schemes(has_rival);
        assert_eq!(schemes(0, true), [Scheme::Window, Scheme::Batches, Scheme::Blocks]);
        assert_eq!(schemes(10, true), [Scheme::Window, Scheme::Batches]);
        assert_eq!([schemes(0, false), schemes(10, false)], [[Scheme::Window]; 2]);
    }

    #[test]
    fn the_quick_plan_has_the_same_rows_of_fewer_tasks() {
        let (full, quick) = (plan(""), plan("--quick"));
        assert_eq!(quick.rows(), full.rows());
        for count in [1_000, 100, 50, 10, 1] {
            let tasks = |plan: &Settings| plan.task_count(Scheme::Window, row(count, 0));
            assert!(tasks(&quick) * 2 <= tasks(&full), "{count}");
            assert!(tasks(&quick) >= 100 * count, "{count}");
        }
    }

    #[test]
    fn filters_are_put_in_order() {
        let plan = plan("--in-flight 5,70,5 --task-us 30,0,30 --tasks 300 --repeat 9");
        assert_eq!(plan.rows(), [row(70, 0), row(5, 0), row(70, 30), row(5, 30)]);
        assert_eq!(plan.repeat_count(), 9);
        let counts = [Scheme::Window, Scheme::Blocks].map(|scheme| plan.task_count(scheme, row(70, 0)));
        assert_eq!(counts, [300, 300]);
    }

    #[test]
    fn a_window_grows_by_itself_where_the_others_are_unbounded_and_has_the_tasks_for_it() {
        let window = |count| row(count, 0).window();
        assert_eq!([50, 100_000, UNBOUNDED_COUNT].map(window), [Some(50), Some(100_000), None]);
        for options in ["", "--quick"] {
            let count = |scheme| plan(options).task_count(scheme, row(UNBOUNDED_COUNT, 0));
            assert_eq!([Scheme::Window, Scheme::Batches].map(count), [10_000_000, 1_000_000], "{options}");
        }
        assert_eq!(plan("--tasks 300").task_count(Scheme::Window, row(UNBOUNDED_COUNT, 0)), 300);
    }

    #[test]
    fn targets_are_those_of_the_rows_that_have_one() {
        let targets =
            |task_us| [10, 50, 100, 1_000, UNBOUNDED_COUNT].map(|count| row(count, task_us).target());
        assert_eq!(targets(0), [Some(2.5), None, Some(3.0), Some(5.0), Some(4.0)]);
        assert_eq!(targets(10), [None; 5]);
    }
}
