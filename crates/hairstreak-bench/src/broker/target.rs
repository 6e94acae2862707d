//! Targets of our node, row by row.

use super::case::CaseName;
use super::plan::Row;

/// How much is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// At least that.
    Least,
    /// A rate that would be good.
    Goal,
}

/// A target: a measure and its bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Demand {
    /// So many in a second.
    Rate(f64),
    /// So many per cent of the limit program's rate.
    PercentOfLimit(f64),
    /// So many times the rival's rate.
    Ratio(f64),
    /// The broker's processor time for a message rises by so many per cent at most against one queue.
    CpuRisePercent(f64),
    /// So many times the rate of one event loop.
    LoopRatio(f64),
}

use Demand::{CpuRisePercent, LoopRatio, PercentOfLimit, Rate, Ratio};
use Level::{Goal, Least};

/// Processor time that rises by less than this counts as unchanged.
const FLAT_PERCENT: f64 = 3.0;

/// The targets of `row`.
pub fn targets(row: Row) -> &'static [(Level, Demand)] {
    match (row.case, row.size, row.loop_count) {
        (CaseName::Publish, 16, _) => {
            &[(Least, Rate(5e6)), (Least, PercentOfLimit(15.0)), (Goal, PercentOfLimit(30.0))]
        }
        (CaseName::Publish, 1024, _) => &[(Least, PercentOfLimit(40.0)), (Goal, PercentOfLimit(70.0))],
        (CaseName::Publish, 131_072, _) => &[(Least, PercentOfLimit(60.0)), (Goal, PercentOfLimit(85.0))],
        (CaseName::InOut, 16, _) => {
            &[(Least, Rate(3e6)), (Least, PercentOfLimit(20.0)), (Goal, PercentOfLimit(35.0))]
        }
        (CaseName::InOut, 1024, _) => &[(Least, PercentOfLimit(45.0)), (Goal, PercentOfLimit(70.0))],
        (CaseName::Confirms, 16, _) => &[(Least, Rate(1.5e6)), (Goal, Rate(4e6))],
        (CaseName::FanOut, 64, _) => &[(Least, Ratio(20.0)), (Goal, Ratio(50.0))],
        (CaseName::RoundTrip, 16, _) => &[(Least, Ratio(2.0)), (Goal, PercentOfLimit(90.0))],
        (CaseName::Queues, 16, _) => &[(Least, CpuRisePercent(15.0)), (Goal, CpuRisePercent(FLAT_PERCENT))],
        (CaseName::HotQueue, 16, Some(2)) => &[(Least, LoopRatio(1.5))],
        (CaseName::HotQueue, 16, Some(4)) => &[(Goal, LoopRatio(3.0))],
        _ => &[],
    }
}

/// Memory of all idle connections together, in bytes, at least and as a goal, for so many of them.
pub const CONNECTION_TARGETS: (u32, [(Level, f64); 2]) =
    (10_000, [(Least, 60.0 * 1_048_576.0), (Goal, 30.0 * 1_048_576.0)]);

impl Level {
    /// In a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Least => "target",
            Goal => "goal",
        }
    }
}
