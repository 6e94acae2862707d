//! The report: what was measured where, as a value that becomes JSON or tables.
//!
//! Field names are an interface: programs read them. A field that could not be measured is null.

use serde::Serialize;

use super::plan::{Row, target, window};
use super::sample::Sample;
use super::task::{Scheme, TASK_SIZE, Transport, WORKER_COUNT};
use crate::comparison::Comparison;
use crate::run::Run;
use crate::statistics::Spread;

/// Everything one run of the benchmark has to say.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Always `pipeline`.
    pub benchmark: &'static str,
    /// What ran where.
    #[serde(flatten)]
    pub run: Run,
    /// The rows, by how long tasks take and by what is in flight.
    pub cases: Vec<Case>,
    /// What became of the targets, and which windows are enough, in sentences.
    pub conclusion: Vec<String>,
    /// The files that hold the charts, if they were asked for.
    pub charts: Vec<String>,
}

/// One row: so many tasks in flight, each of which takes so long.
#[derive(Debug, Serialize)]
pub struct Case {
    /// Always `pipeline`.
    pub case: &'static str,
    /// `tcp` or `ipc`.
    pub transport: &'static str,
    /// Bytes per task.
    pub size: usize,
    /// Worker processes.
    pub workers: usize,
    /// How long a worker has a task, in microseconds.
    pub task_us: u64,
    /// The most tasks in flight: the batch, the block.
    pub in_flight: u64,
    /// The window of ours; null if it grows by itself.
    pub window: Option<u64>,
    /// What the rates count.
    pub unit: &'static str,
    /// Repeats of each contender.
    pub n: usize,
    /// Ours and the rival.
    #[serde(flatten)]
    pub rates: Comparison,
    /// What the ratio has to be, if this row has a target.
    pub target_ratio: Option<f64>,
    /// Median rate of the rival's blocks over REQ/REP.
    pub blocks: Option<f64>,
    /// Slowest repeat.
    pub blocks_min: Option<f64>,
    /// Fastest repeat.
    pub blocks_max: Option<f64>,
    /// `ours / blocks`.
    pub blocks_ratio: Option<f64>,
    /// How much less ours is than with the most in flight, in percent, if more rows have tasks like these.
    pub cost_percent: Option<f64>,
    /// The same of the rival's batches.
    pub rival_cost_percent: Option<f64>,
    /// What ours used.
    pub ours_use: Consumption,
    /// What the rival's batches used.
    pub rival_use: Option<Consumption>,
    /// What its blocks used.
    pub blocks_use: Option<Consumption>,
}

/// What a contender used, all repeats taken together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Consumption {
    /// Tasks of a sample.
    pub tasks: u64,
    /// User and system seconds of all processes per million tasks, median.
    pub cpu_s_per_million: f64,
    /// The most memory of the ventilator in any repeat, in bytes.
    pub ventilator_peak_size: u64,
    /// That of any worker.
    pub worker_peak_size: u64,
    /// That of the sink.
    pub sink_peak_size: u64,
    /// Of all tasks, in percent, the worker's that had fewest in its repeat, and so on to the one that had most; means.
    pub worker_share_percent: [f64; WORKER_COUNT],
}

/// The samples of one row.
#[derive(Debug, Default)]
pub struct Evidence {
    /// Of ours.
    pub ours: Vec<Sample>,
    /// Of the rival's batches.
    pub batches: Vec<Sample>,
    /// Of its blocks.
    pub blocks: Vec<Sample>,
}

impl Evidence {
    /// The samples of a contender.
    pub fn of(&mut self, scheme: Scheme) -> &mut Vec<Sample> {
        match scheme {
            Scheme::Window => &mut self.ours,
            Scheme::Batches => &mut self.batches,
            Scheme::Blocks => &mut self.blocks,
        }
    }
}

impl Case {
    /// The row that `evidence` supports, still without its costs; `None` without a sample of ours.
    pub fn new(row: Row, transport: Transport, evidence: &Evidence) -> Option<Self> {
        let rates = |samples: &[Sample]| Spread::of(samples.iter().map(Sample::rate));
        let ours = rates(&evidence.ours)?;
        let (rival, blocks) = (rates(&evidence.batches), rates(&evidence.blocks));
        Some(Self {
            case: "pipeline",
            transport: transport.text(),
            size: TASK_SIZE,
            workers: WORKER_COUNT,
            task_us: row.task_us,
            in_flight: row.in_flight_count,
            window: window(row.in_flight_count),
            unit: "tasks/s",
            n: evidence.ours.len(),
            rates: Comparison::new(ours, rival),
            target_ratio: target(row),
            blocks: blocks.map(|blocks| blocks.median),
            blocks_min: blocks.map(|blocks| blocks.min),
            blocks_max: blocks.map(|blocks| blocks.max),
            blocks_ratio: blocks.map(|blocks| ours.median / blocks.median),
            cost_percent: None,
            rival_cost_percent: None,
            ours_use: Consumption::of(&evidence.ours)?,
            rival_use: Consumption::of(&evidence.batches),
            blocks_use: Consumption::of(&evidence.blocks),
        })
    }

    /// The window of ours in words.
    pub fn window_text(&self) -> String {
        self.window.map_or_else(|| "auto".to_owned(), |window| window.to_string())
    }

    /// What became of the row's target.
    pub fn verdict(&self) -> Option<String> {
        let (ratio, target) = (self.rates.ratio?, self.target_ratio?);
        let verdict = if ratio >= target { "reached" } else { "missed" };
        let who = match self.window {
            Some(window) => format!("{window} in flight"),
            None => "Unbounded against a window that grows by itself".to_owned(),
        };
        Some(format!("{who}: {ratio:.2}x libzmq's batches, target {target}x: {verdict}."))
    }
}

impl Consumption {
    fn of(samples: &[Sample]) -> Option<Self> {
        let most = |of: fn(&Sample) -> u64| samples.iter().map(of).max();
        let mut worker_share_percent = [0.0; WORKER_COUNT];
        for sample in samples {
            let mut counts = sample.worker_task_counts;
            counts.sort_unstable();
            for (share, count) in worker_share_percent.iter_mut().zip(counts) {
                *share += 100.0 * count as f64 / sample.task_count as f64 / samples.len() as f64;
            }
        }
        Some(Self {
            tasks: samples.first()?.task_count,
            cpu_s_per_million: Spread::of(samples.iter().map(Sample::cpu_s_per_million))?.median,
            ventilator_peak_size: most(|sample| sample.ventilator_peak_size)?,
            worker_peak_size: most(|sample| sample.worker_peak_size)?,
            sink_peak_size: most(|sample| sample.sink_peak_size)?,
            worker_share_percent,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Case, Evidence, Row, Sample, Transport};
    use crate::usage::Usage;

    pub fn sample(elapsed_s: f64) -> Sample {
        Sample {
            task_count: 1000,
            elapsed_s,
            usage: Usage { cpu_s: 0.5, system_s: 0.1, voluntary_switches: 10, allocations: 0 },
            ventilator_peak_size: 3 << 20,
            worker_peak_size: (elapsed_s * 1e6) as u64,
            sink_peak_size: 5 << 20,
            worker_task_counts: [400, 100, 300, 200],
        }
    }

    pub fn case(in_flight_count: u64, rival_s: &[f64]) -> Case {
        let rival: Vec<Sample> = rival_s.iter().copied().map(sample).collect();
        let evidence = Evidence {
            ours: vec![sample(1.0), sample(4.0), sample(2.0)],
            batches: rival.clone(),
            blocks: rival,
        };
        Case::new(Row { in_flight_count, task_us: 0 }, Transport::Tcp, &evidence).unwrap()
    }

    #[test]
    fn a_ratio_is_that_of_the_medians() {
        let case = case(10, &[4.0]);
        assert_eq!(
            (case.n, case.rates.ours_min, case.rates.ours, case.rates.ours_max),
            (3, 250.0, 500.0, 1000.0)
        );
        assert_eq!((case.rates.ratio, case.blocks_ratio), (Some(2.0), Some(2.0)));
    }

    #[test]
    fn shares_go_from_the_idlest_worker_to_the_busiest() {
        let consumption = case(10, &[]).ours_use;
        for (share, expected) in consumption.worker_share_percent.iter().zip([10.0, 20.0, 30.0, 40.0]) {
            assert!((share - expected).abs() < 1e-9, "{consumption:?}");
        }
        assert_eq!((consumption.cpu_s_per_million, consumption.worker_peak_size), (500.0, 4_000_000));
    }

    #[test]
    fn a_verdict_says_whether_the_target_was_reached() {
        let check = |case: Case, expected: Option<&str>| assert_eq!(case.verdict().as_deref(), expected);
        check(case(10, &[4.0]), Some("10 in flight: 2.00x libzmq's batches, target 2.5x: missed."));
        check(case(10, &[5.0]), Some("10 in flight: 2.50x libzmq's batches, target 2.5x: reached."));
        let unbounded =
            "Unbounded against a window that grows by itself: 4.00x libzmq's batches, target 4x: reached.";
        check(case(1_000_000, &[8.0]), Some(unbounded));
        check(case(50, &[4.0]), None);
        check(case(10, &[]), None);
    }

    #[test]
    fn a_row_without_a_rival_has_null_in_its_place() {
        let json = serde_json::to_value(case(10, &[])).unwrap();
        for field in ["rival", "rival_min", "rival_name", "ratio", "blocks", "blocks_ratio", "rival_use"] {
            assert!(json[field].is_null(), "{field}");
        }
    }
}
