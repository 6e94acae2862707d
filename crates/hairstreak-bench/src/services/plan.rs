//! The plan of the services study: the cases, the workers, the requests; by default, with `--quick` and with filters.

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::frame::{Common, RivalOptions, name, sorted};
use crate::sample::RIVAL_NAME;

/// The order of requests and replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// One request, its reply, and the next.
    Sync,
    /// All requests, then all replies.
    Async,
}

/// The programs of a sample. Those of ours are the cases of the study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// A proxy, in the process of client and worker
    #[default]
    Tripping,
    /// A Majordomo broker, in a process of its own as the client and each worker
    Services,
    /// The same, all workers those of the plain Majordomo: one request at a time
    PlainWorkers,
    /// The same, and the next requests wait in the workers' sockets (`plain-capacity`)
    StockedPlainWorkers,
    /// The rival's DEALERs and zmq_proxy
    #[value(skip)]
    LibzmqProxy,
    /// The rival's plain Majordomo
    #[value(skip)]
    LibzmqMajordomo,
}

impl Scheme {
    /// The name of a case in reports.
    pub fn text(self) -> String {
        name(&self).replace('-', " ")
    }

    /// The contender in reports.
    pub fn owner(self) -> &'static str {
        let is_rival = matches!(self, Self::LibzmqProxy | Self::LibzmqMajordomo);
        if is_rival { RIVAL_NAME } else { "hairstreak" }
    }
}

/// The options of `hairstreak-bench services`.
#[derive(Clone, Debug, Args)]
pub struct Settings {
    /// Only these cases [default: all]
    #[arg(long = "case", value_enum, value_delimiter = ',')]
    pub cases: Vec<Scheme>,
    /// Only so many workers, and only those asynchronously [default: 1 synchronously; 1,2,4,8,10,16 asynchronously]
    #[arg(long = "workers", value_delimiter = ',', value_name = "COUNT",
        value_parser = clap::value_parser!(u8).range(1..=64))]
    pub worker_counts: Vec<u8>,
    /// Requests of each sample [default: 100000; through a proxy synchronously 10000]
    #[arg(long = "requests", value_name = "COUNT", value_parser = clap::value_parser!(u64).range(10..=10_000_000))]
    pub request_count: Option<u64>,
    /// Sampling and output.
    #[command(flatten)]
    pub common: Common,
    /// The rival.
    #[command(flatten)]
    pub rival: RivalOptions,
}

/// The source's 1 and 10, and numbers between and beyond.
const WORKER_COUNTS: [u8; 6] = [1, 2, 4, 8, 10, 16];
/// The source's: 10,000 where each waits in turn, and a tenth of the effort each otherwise.
const REQUEST_COUNT_TRIPPING_SYNC: u64 = 10_000;
const REQUEST_COUNT: u64 = 100_000;
/// The divisor of the numbers of requests with `--quick`.
const QUICK_PART: u64 = 20;
const REPEAT_COUNT: u32 = 3;

/// The settings that all contenders of a row share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The case. The processes of a sample have its scheme.
    #[serde(skip)]
    pub case: Scheme,
    /// The client's way of asking.
    pub mode: Mode,
    /// Workers.
    pub worker_count: u8,
}

impl Row {
    /// In words, for progress and conclusions.
    pub fn text(self) -> String {
        let (case, mode) = (self.case.text(), name(&self.mode));
        match (self.case, self.worker_count) {
            (Scheme::Tripping, _) => format!("{case} {mode}"),
            (_, 1) => format!("{case} {mode}, 1 worker"),
            (_, count) => format!("{case} {mode}, {count} workers"),
        }
    }

    /// Returns the contenders of the row: ours, then the rival. Plain workers are the rival's.
    pub fn schemes(self, has_rival: bool) -> Vec<Scheme> {
        let is_tripping = self.case == Scheme::Tripping;
        let rival = if is_tripping { Scheme::LibzmqProxy } else { Scheme::LibzmqMajordomo };
        match (has_rival, self.case) {
            (true, case) => vec![case, rival],
            (false, Scheme::Tripping | Scheme::Services) => vec![self.case],
            (false, _) => Vec::new(),
        }
    }

    /// Returns the target for Hairstreak, if the row has one: a multiple of the rival's rate.
    pub fn target(self) -> Option<f64> {
        match (self.case, self.mode, self.worker_count) {
            (Scheme::Tripping, Mode::Sync, 1) => Some(2.5),
            (Scheme::Services, Mode::Async, 1 | 10) => Some(20.0),
            (_, _, 1) => Some(3.0),
            _ => None,
        }
    }
}

impl Settings {
    /// The rows, in the source's order.
    pub fn rows(&self) -> Vec<Row> {
        let cases = Scheme::value_variants().iter();
        let mut rows = Vec::new();
        for &case in cases.filter(|case| self.cases.is_empty() || self.cases.contains(case)) {
            for mode in [Mode::Sync, Mode::Async] {
                let counts = match (case, mode) {
                    (Scheme::Services, Mode::Async) => sorted(&self.worker_counts, &WORKER_COUNTS),
                    (Scheme::PlainWorkers | Scheme::StockedPlainWorkers, Mode::Sync) => Vec::new(),
                    _ if self.worker_counts.is_empty() => vec![1],
                    _ => Vec::new(),
                };
                rows.extend(counts.into_iter().map(|worker_count| Row { case, mode, worker_count }));
            }
        }
        rows
    }

    /// Samples of each row, per contender.
    pub fn repeat_count(&self) -> u32 {
        self.common.repeat_count(REPEAT_COUNT, REPEAT_COUNT)
    }

    /// Requests of a sample.
    pub fn request_count(&self, row: Row) -> u64 {
        let is_slow = (row.case, row.mode) == (Scheme::Tripping, Mode::Sync);
        let count = if is_slow { REQUEST_COUNT_TRIPPING_SYNC } else { REQUEST_COUNT };
        self.request_count.unwrap_or(if self.common.quick { count / QUICK_PART } else { count })
    }
}

#[cfg(test)]
mod tests {
    use super::{Mode, Row, Scheme, Settings};
    use crate::frame::parse;

    fn plan(options: &str) -> Settings {
        parse(options)
    }

    fn texts(plan: &Settings) -> Vec<String> {
        plan.rows().iter().map(|row| row.text()).collect()
    }

    #[test]
    fn the_full_plan_has_the_sources_programs_and_more_workers() {
        let plan = plan("");
        let expected = [
            "tripping sync",
            "tripping async",
            "services sync, 1 worker",
            "services async, 1 worker",
            "services async, 2 workers",
            "services async, 4 workers",
            "services async, 8 workers",
            "services async, 10 workers",
            "services async, 16 workers",
            "plain workers async, 1 worker",
            "stocked plain workers async, 1 worker",
        ];
        assert_eq!(texts(&plan), expected);
        let counts: Vec<u64> = plan.rows().iter().map(|&row| plan.request_count(row)).collect();
        assert_eq!(counts[..3], [10_000, 100_000, 100_000]);
        assert!(counts[3..].iter().all(|&count| count == 100_000) && plan.repeat_count() == 3);
    }

    #[test]
    fn filters_choose_rows_and_counts() {
        let workers = plan("--workers 5,3,5 --requests 70 --repeat 9");
        assert_eq!(texts(&workers), ["services async, 3 workers", "services async, 5 workers"]);
        assert_eq!((workers.request_count(workers.rows()[0]), workers.repeat_count()), (70, 9));
        assert_eq!(texts(&plan("--case tripping")), ["tripping sync", "tripping async"]);
        assert_eq!(plan("--case services --quick").rows().len(), 7);
        let quick = plan("--quick");
        assert_eq!([0, 1, 2].map(|row| quick.request_count(quick.rows()[row])), [500, 5_000, 5_000]);
    }

    #[test]
    fn targets_and_contenders_are_those_of_the_row() {
        let row = |case, mode, worker_count| Row { case, mode, worker_count };
        let (sync, tripping) = (Mode::Sync, row(Scheme::Tripping, Mode::Async, 1));
        assert_eq!(tripping.target(), Some(3.0));
        assert_eq!(row(Scheme::Services, sync, 1).target(), Some(3.0));
        assert_eq!(row(Scheme::Services, Mode::Async, 4).target(), None);
        assert_eq!(tripping.schemes(true), [Scheme::Tripping, Scheme::LibzmqProxy]);
        assert_eq!(tripping.schemes(false), [Scheme::Tripping]);
        assert_eq!(row(Scheme::Services, sync, 1).schemes(false), [Scheme::Services]);
        assert!(row(Scheme::PlainWorkers, sync, 1).schemes(false).is_empty());
    }
}
