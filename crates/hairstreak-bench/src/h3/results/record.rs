//! `Record`: the samples of one run, and their statistics.
//!
//! The statistics are pandas' `describe`, which the paper prints. The deviation is the deviation of a sample (divided
//! by one less than the count); percentiles lie on the line between the two samples around them.

use anyhow::{Context, Result};
use serde::Serialize;

use crate::h3::contender::Contender;
use crate::h3::controller::{Node, Run};
use crate::h3::data::Time;
use crate::h3::plan::{Plan, WINDOWS_MIN};

const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;
/// Headings of the statistics, in the order of [`Statistics::values`].
pub const HEADINGS: [&str; 11] =
    ["count", "mean", "std", "min", "25%", "50%", "75%", "90%", "95%", "99%", "max"];

/// A description of samples. The deviation of a single sample is 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Statistics {
    pub count: usize,
    pub mean: f64,
    pub std: f64,
    pub min: f64,
    pub p25: f64,
    pub p50: f64,
    pub p75: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

impl Statistics {
    /// Describes `samples`; `None` for none.
    pub fn of(samples: &[f64]) -> Option<Statistics> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let count = sorted.len();
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let squares: f64 = sorted.iter().map(|sample| (sample - mean).powi(2)).sum();
        let std = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        let percentile = |percent: f64| {
            let place = percent / 100.0 * (count - 1) as f64;
            let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        let [p25, p50, p75, p90, p95, p99] = [25.0, 50.0, 75.0, 90.0, 95.0, 99.0].map(percentile);
        Some(Statistics { count, mean, std, min, p25, p50, p75, p90, p95, p99, max })
    }

    /// All figures.
    pub fn values(&self) -> [f64; 11] {
        let Statistics { count, mean, std, min, p25, p50, p75, p90, p95, p99, max } = *self;
        [count as f64, mean, std, min, p25, p50, p75, p90, p95, p99, max]
    }
}

/// Reasons to doubt a run: their keys in JSON and their words.
pub const MARKS: [(&str, &str); 3] = [
    ("few_windows", "fewer than 100 windows"),
    ("spilled", "spilled to disk"),
    ("alarm", "the broker raised an alarm"),
];

/// One run. Field names are an interface: programs read them.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// The contender.
    #[serde(flatten)]
    pub contender: Contender,
    /// Bytes of a message.
    pub size: usize,
    /// The number of the run, from 1.
    pub run: u32,
    /// Messages that were sent, arrived and were verified, on both nodes.
    pub count: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// The time of the windows.
    pub time: Time,
    /// Length of a window in milliseconds of that time.
    pub window_ms: f64,
    /// Messages a second in each window, both nodes together.
    pub samples: Vec<f64>,
    /// Messages of each window by node.
    pub windows: [Vec<u64>; 2],
    /// Messages a second of the host's time, from the first arrival to the last, both nodes together.
    pub wall_messages_per_s: f64,
    /// The statistics of the samples.
    pub statistics: Statistics,
    /// The keys of [`MARKS`] that are reasons to doubt the run.
    pub marks: Vec<&'static str>,
}

impl Record {
    /// The record of `run`.
    ///
    /// Errors: the run was over before a window was.
    pub fn new(run: &Run, plan: &Plan, outcome: &[Node; 2]) -> Result<Record> {
        let time = run.contender.time();
        let window_ns = plan.window_ns(time) as f64;
        let windows = outcome.each_ref().map(|(arrivals, ..)| arrivals.windows.clone());
        let both = windows[0].iter().zip(&windows[1]);
        let samples: Vec<f64> = both.map(|(a, b)| (a + b) as f64 / (window_ns / NS_PER_S)).collect();
        let statistics = Statistics::of(&samples).with_context(|| {
            format!("{run}: everything arrived at once, so that there is no rate; raise --scale or --memory")
        })?;
        let wall_rate = |node: &Node| node.0.count as f64 * NS_PER_S / node.0.wall_ns.max(1) as f64;
        let has_mark = [
            samples.len() < WINDOWS_MIN,
            outcome.iter().any(|(.., has_spilled)| *has_spilled),
            outcome.iter().any(|(arrivals, ..)| arrivals.has_alarm),
        ];
        let marks = MARKS.into_iter().zip(has_mark).filter(|(_, has_mark)| *has_mark);
        Ok(Record {
            contender: run.contender,
            size: run.row.size,
            run: run.number,
            count: outcome.iter().map(|(_, tally, _)| tally.count).sum(),
            bytes: outcome.iter().map(|(_, tally, _)| tally.bytes).sum(),
            time,
            window_ms: window_ns / NS_PER_MS,
            wall_messages_per_s: outcome.iter().map(wall_rate).sum(),
            samples,
            windows,
            statistics,
            marks: marks.map(|((key, _), _)| key).collect(),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::h3::contender::{Target, Transport};
    use crate::h3::data::{Arrivals, Tally};

    /// A run of the first row with these numbers of messages in the windows of both nodes.
    pub fn record(transport: Transport, target: Target, size: usize, windows: &[u64]) -> Record {
        let plan = Plan::new(0.001, 1 << 30, &[size]);
        let run = Run { contender: Contender { transport, target }, row: plan.rows[0], number: 1 };
        Record::new(&run, &plan, &outcome([windows, windows])).unwrap()
    }

    fn outcome(windows: [&[u64]; 2]) -> [Node; 2] {
        windows.map(|windows| {
            let (count, windows) = (windows.iter().sum(), windows.to_vec());
            let arrivals = Arrivals { count, windows, wall_ns: 1_000_000, has_alarm: false };
            (arrivals, Tally { count: 5, bytes: 40, digest: 1 }, false)
        })
    }

    fn record_of(outcome: &[Node; 2]) -> Result<Record> {
        let plan = Plan::new(0.001, 1 << 30, &[8]);
        let contender = Contender { transport: Transport::Tcp, target: Target::Across };
        Record::new(&Run { contender, row: plan.rows[0], number: 1 }, &plan, outcome)
    }

    #[test]
    fn a_sample_is_a_window_of_both_nodes_as_long_as_both_have_one() {
        let record = record_of(&outcome([&[1, 2, 3], &[10, 20]])).unwrap();
        assert_eq!(record.samples, [5500.0, 11_000.0]);
        assert_eq!((record.count, record.bytes, record.statistics.count), (10, 80, 2));
    }

    #[test]
    fn each_reason_to_doubt_a_run_marks_it() {
        let full = [7; 100];
        let mut whole = outcome([&full, &full]);
        assert_eq!(record_of(&whole).unwrap().marks, [""; 0]);
        assert_eq!(record_of(&outcome([&full, &full[1..]])).unwrap().marks, ["few_windows"]);
        whole[1].0.has_alarm = true;
        whole[0].2 = true;
        assert_eq!(record_of(&whole).unwrap().marks, ["spilled", "alarm"]);
    }

    #[test]
    fn a_run_without_a_window_is_an_error_that_says_what_to_do() {
        let error = record_of(&outcome([&[], &[1]])).unwrap_err().to_string();
        let expected = "tcp across the transport, 8 B, run 1: everything arrived at once, so that there is no rate; raise --scale or --memory";
        assert_eq!(error, expected);
    }

    /// The values that pandas 3.1 prints for `Series([1, 2, 3, 4, 10]).describe(percentiles=[.25, .5, .75, .9, .95, .99])`.
    #[test]
    fn a_description_is_the_one_of_pandas() {
        let found = Statistics::of(&[10.0, 1.0, 3.0, 2.0, 4.0]).unwrap();
        let expected = [5.0, 4.0, 3.535534, 1.0, 2.0, 3.0, 4.0, 7.6, 8.8, 9.76, 10.0];
        for ((name, value), expected) in HEADINGS.iter().zip(found.values()).zip(expected) {
            assert!((value - expected).abs() < 1e-6, "{name}: {value}, not {expected}");
        }
    }

    #[test]
    fn one_sample_has_no_deviation_and_none_no_description() {
        let found = Statistics::of(&[7.0]).unwrap();
        assert_eq!((found.count, found.mean, found.std, found.p99), (1, 7.0, 0.0, 7.0));
        assert_eq!(Statistics::of(&[]), None);
    }
}
