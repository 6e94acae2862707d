//! `Record`: what one run has shown.

use serde::Serialize;

use crate::h3::agent::Arrivals;
use crate::h3::contender::{Target, Transport};
use crate::h3::controller::{H3Error, Outcome, Run};
use crate::h3::data::Time;
use crate::h3::plan::{Plan, WINDOWS_MIN};
use crate::h3::statistics::Description;

const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;

/// A reason not to take a run at its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// It has fewer windows than a run has to have.
    FewWindows,
    /// A broker has written messages to disk.
    Spilled,
    /// A broker has stopped publishers for want of memory.
    Alarm,
}

/// One run. Field names are an interface: programs read them.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// Across this transport.
    pub transport: Transport,
    /// To this target.
    pub target: Target,
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
    /// The samples, described.
    pub statistics: Description,
    /// Reasons not to take it at its word.
    pub marks: Vec<Mark>,
}

impl Record {
    /// The record of `run`.
    ///
    /// Errors: the run was over before a window was.
    pub fn new(run: &Run, plan: &Plan, outcome: &Outcome) -> Result<Record, H3Error> {
        let [a, b] = &outcome.arrivals;
        let windows = [a.counts.windows.clone(), b.counts.windows.clone()];
        let both = windows[0].iter().zip(&windows[1]);
        let window_ns = run.window_ns(plan) as f64;
        let window_s = window_ns / NS_PER_S;
        let samples: Vec<f64> = both.map(|(a, b)| (a + b) as f64 / window_s).collect();
        let statistics = Description::of(&samples).ok_or_else(|| H3Error::NoWindow(run.text()))?;
        let marks = [
            (samples.len() < WINDOWS_MIN, Mark::FewWindows),
            (outcome.has_spilled, Mark::Spilled),
            (a.has_alarm || b.has_alarm, Mark::Alarm),
        ];
        Ok(Record {
            transport: run.transport,
            target: run.target,
            size: run.row.size,
            run: run.number,
            count: outcome.tallies.iter().map(|tally| tally.count).sum(),
            bytes: outcome.tallies.iter().map(|tally| tally.bytes).sum(),
            time: run.transport.time(run.target),
            window_ms: window_ns / NS_PER_MS,
            wall_messages_per_s: outcome.arrivals.iter().map(wall_rate).sum(),
            samples,
            windows,
            statistics,
            marks: marks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| mark).collect(),
        })
    }

    /// The name of its contender in tables.
    pub fn contender(&self) -> String {
        contender_name(self.transport, self.target)
    }
}

fn wall_rate(arrivals: &Arrivals) -> f64 {
    arrivals.count as f64 * NS_PER_S / arrivals.counts.wall_ns.max(1) as f64
}

/// The short name of a transport and a target.
pub fn contender_name(transport: Transport, target: Target) -> String {
    let time = transport.time(target);
    let transport = transport.text();
    let name = match target {
        Target::Across => transport.to_owned(),
        Target::Hairstreak => format!("{transport} > hairstreak"),
        Target::Rabbitmq => format!("{transport} > rabbitmq"),
        Target::RabbitmqLoopback => format!("{transport} > tcp > rabbitmq"),
    };
    match time {
        Time::Wall => name,
        Time::Fabric => format!("{name} (fabric time)"),
    }
}

impl Mark {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Mark::FewWindows => "fewer than 100 windows",
            Mark::Spilled => "spilled to disk",
            Mark::Alarm => "the broker raised an alarm",
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::h3::data::{Counts, Tally};
    use crate::h3::plan::Plan;

    /// A run of the first row in which each window of both nodes had so many messages.
    pub fn record(transport: Transport, target: Target, size: usize, windows: &[u64]) -> Record {
        let plan = Plan::new(0.001, 1 << 30, &[size]);
        let run = Run { transport, target, row: plan.rows[0], number: 1 };
        Record::new(&run, &plan, &outcome([windows, windows])).unwrap()
    }

    fn outcome(windows: [&[u64]; 2]) -> Outcome {
        let arrivals = windows.map(|windows| Arrivals {
            count: windows.iter().sum(),
            counts: Counts { windows: windows.to_vec(), wall_ns: 1_000_000 },
            has_alarm: false,
        });
        Outcome { arrivals, tallies: [Tally { count: 5, bytes: 40, digest: 1 }; 2], has_spilled: false }
    }

    fn record_of(outcome: &Outcome) -> Result<Record, H3Error> {
        let plan = Plan::new(0.001, 1 << 30, &[8]);
        let run = Run { transport: Transport::Tcp, target: Target::Across, row: plan.rows[0], number: 1 };
        Record::new(&run, &plan, outcome)
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
        assert_eq!(record_of(&whole).unwrap().marks, []);
        assert_eq!(record_of(&outcome([&full, &full[1..]])).unwrap().marks, [Mark::FewWindows]);
        whole.arrivals[1].has_alarm = true;
        whole.has_spilled = true;
        assert_eq!(record_of(&whole).unwrap().marks, [Mark::Spilled, Mark::Alarm]);
    }

    #[test]
    fn a_run_without_a_window_is_an_error_that_says_what_to_do() {
        let error = record_of(&outcome([&[], &[1]])).unwrap_err().to_string();
        let expected = "tcp across the transport, 8 B, run 1: everything arrived at once, so that there is no rate; raise --scale or --memory";
        assert_eq!(error, expected);
    }
}
