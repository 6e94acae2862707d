//! The run of the benchmark: finds message counts, lets the contenders take turns, counts, reports.
//!
//! Invariants: within one repeat every contender of a scenario is measured once before any is measured again, so that
//! the machine's drift meets all alike; progress goes to standard error, the report alone to standard output.

use std::collections::BTreeSet;

use super::plan::Plan;
use super::report::{Case, Evidence, Report};
use super::table;
use crate::arguments::SocketsSettings;
use crate::run::Run;
use crate::sample::{
    BATCH_COUNT, Calls, CaseName, ContenderName, Sample, SampleError, Scenario, Subject, Transport,
};
use crate::tracer::Tracer;

/// A calibration that takes less is repeated with more messages.
const CALIBRATION_S_MIN: f64 = 0.03;
const CALIBRATION_ROUNDS_MAX: u32 = 4;
/// Messages of the shortest counting run, whose counts are those of start and end: one batch call.
const COUNT_BASE: u64 = BATCH_COUNT as u64;
/// Messages of the longer counting run, as a share of a timed sample's.
const COUNT_SHARE: f64 = 0.3;
const MESSAGE_COUNT_MIN: u64 = 200;
const MESSAGE_COUNT_MAX: u64 = 1_000_000_000;

/// Why the benchmark has no report.
#[derive(Debug, thiserror::Error)]
pub enum BenchmarkError {
    /// The options leave no row.
    #[error("nothing to measure: no case has rows for all of these options")]
    NothingToMeasure,
    /// A sample failed.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// The report could not be written as JSON.
    #[error("cannot write the report: {0}")]
    Report(#[from] serde_json::Error),
}

/// Runs the benchmark and prints its report.
pub fn run(settings: &SocketsSettings) -> Result<(), BenchmarkError> {
    let plan = Plan::new(settings);
    if plan.scenarios.is_empty() {
        return Err(BenchmarkError::NothingToMeasure);
    }
    let mut run = Run::new(&settings.rival);
    let tracer = Tracer::detect();
    if tracer.is_none() {
        run.notes.push("system calls were not counted: neither perf nor strace works here".to_owned());
    }
    if plan.scenarios.iter().any(|scenario| scenario.transport == Transport::Inproc) {
        run.notes.push("the threads of an inproc sample keep to a core each, whoever's they are".to_owned());
    }
    run.notes.extend(plan.notes().map(str::to_owned));
    let mut cases = Vec::new();
    for (index, scenario) in plan.scenarios.iter().enumerate() {
        eprintln!("sockets {}/{}: {}", index + 1, plan.scenarios.len(), scenario.text());
        let turns =
            Turns { scenario, plan: &plan, libzmq: &settings.rival.libzmq, has_rival: run.has_rival() };
        cases.extend(turns.measure(tracer)?);
    }
    let report =
        Report { benchmark: "sockets", run, system_calls_counted_by: tracer.map(Tracer::name), cases };
    match settings.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => print!("{}", table::render(&report)),
    }
    Ok(())
}

/// The contenders of one scenario taking turns.
struct Turns<'a> {
    scenario: &'a Scenario,
    plan: &'a Plan,
    libzmq: &'a str,
    has_rival: bool,
}

/// One contender called in one way, with what has been measured of it.
struct Turn<'a> {
    subject: Subject<'a>,
    message_count: u64,
    samples: Vec<Sample>,
}

impl<'a> Turns<'a> {
    fn measure(&self, tracer: Option<Tracer>) -> Result<Vec<Case>, BenchmarkError> {
        let mut turns = Vec::new();
        for subject in self.subjects() {
            let message_count = calibrate(&subject, self.plan.sample_s)?;
            turns.push(Turn { subject, message_count, samples: Vec::new() });
        }
        for _ in 0..self.plan.repeat_count {
            for turn in &mut turns {
                turn.samples.push(turn.subject.sample(turn.message_count)?);
            }
        }
        let mut cases = Vec::new();
        for &calls in &self.scenario.calls {
            let mut evidence = Evidence::default();
            for turn in turns.iter().filter(|turn| turn.is_for(calls)) {
                match turn.subject.contender {
                    ContenderName::Ours => {
                        turn.count_into(&mut evidence, tracer)?;
                        evidence.ours.clone_from(&turn.samples);
                    }
                    ContenderName::Libzmq => evidence.rival.clone_from(&turn.samples),
                    ContenderName::Limit => evidence.limit.clone_from(&turn.samples),
                }
            }
            cases.extend(Case::new(self.scenario, calls, &evidence));
        }
        Ok(cases)
    }

    /// Ours beside the rival, then the limits: the order of the turns.
    fn subjects(&self) -> Vec<Subject<'a>> {
        let subject =
            |contender, calls| Subject { scenario: self.scenario, contender, calls, libzmq: self.libzmq };
        let calls = &self.scenario.calls;
        let ours = calls.iter().map(|&calls| subject(ContenderName::Ours, calls));
        let rival = calls.iter().filter(|_| self.has_rival).map(|&calls| rival_calls(calls));
        let rival = BTreeSet::from_iter(rival).into_iter().map(|calls| subject(ContenderName::Libzmq, calls));
        let limits = calls.iter().map(|&calls| subject(ContenderName::Limit, calls));
        ours.chain(rival).chain(limits).collect()
    }
}

impl Turn<'_> {
    /// Whether its samples belong into the row for `calls`.
    fn is_for(&self, calls: Calls) -> bool {
        match self.subject.contender {
            ContenderName::Libzmq => self.subject.calls == rival_calls(calls),
            ContenderName::Ours | ContenderName::Limit => self.subject.calls == calls,
        }
    }

    /// Counts allocations and system calls in two runs of different lengths: their difference leaves out what a
    /// process does once.
    fn count_into(&self, evidence: &mut Evidence, tracer: Option<Tracer>) -> Result<(), BenchmarkError> {
        let more = ((self.message_count as f64 * COUNT_SHARE) as u64).max(COUNT_BASE);
        let short = self.subject.count(COUNT_BASE, tracer)?;
        let long = self.subject.count(COUNT_BASE + more, tracer)?;
        let per_message = |long: u64, short: u64| long.saturating_sub(short) as f64 / more as f64;
        evidence.allocations_per_message = per_message(long.usage.allocations, short.usage.allocations);
        evidence.system_calls_per_message =
            long.system_calls.zip(short.system_calls).map(|(long, short)| per_message(long, short));
        Ok(())
    }
}

/// How the rival is called for the row of `calls`: it has no batch calls.
fn rival_calls(calls: Calls) -> Calls {
    match calls {
        Calls::One | Calls::Batch | Calls::Spin => Calls::One,
        Calls::Handle => Calls::Handle,
    }
}

/// Finds how many messages take about `sample_s` seconds.
fn calibrate(subject: &Subject<'_>, sample_s: f64) -> Result<u64, SampleError> {
    let mut message_count = first_guess(subject);
    let mut sample = subject.sample(message_count)?;
    for _ in 1..CALIBRATION_ROUNDS_MAX {
        if sample.elapsed_s >= CALIBRATION_S_MIN {
            break;
        }
        let factor = (2.0 * CALIBRATION_S_MIN / sample.elapsed_s).clamp(2.0, 20.0);
        message_count = (message_count as f64 * factor) as u64;
        sample = subject.sample(message_count)?;
    }
    let scaled = (sample.rate() * sample_s) as u64;
    Ok(scaled.clamp(MESSAGE_COUNT_MIN, MESSAGE_COUNT_MAX))
}

/// Messages that take a few hundredths of a second on a slow machine.
fn first_guess(subject: &Subject<'_>) -> u64 {
    match subject.scenario.case {
        CaseName::RoundTrip => 500,
        _ => (50_000_000 / (500 + subject.scenario.size as u64)).max(MESSAGE_COUNT_MIN),
    }
}
