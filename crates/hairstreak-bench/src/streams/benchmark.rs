//! The run of the benchmark: lets the contenders take turns, then the controls, reports.
//!
//! Invariants: within one repeat every contender and every control is measured once before any is measured again, so
//! that the machine's drift meets all alike; progress goes to standard error, the report alone to standard output.

use std::io;
use std::path::Path;
use std::time::Instant;

use hairstreak_chart::ChartError;

use super::charts;
use super::conclusion::{Load, conclude};
use super::plan::{CONTROL_SIZE, CONTROL_TRANSPORTS, Plan, TRANSPORT};
use super::report::{Case, Control, Report};
use super::table;
use crate::arguments::StreamsSettings;
use crate::rival::RIVAL_NAME;
use crate::run::Run;
use crate::sample::{Calls, CaseName, ContenderName, Sample, SampleError, Scenario, Subject, Transport};

/// Far more than the caches hold.
const COPY_SIZE: usize = 64 << 20;
const COPY_COUNT: u32 = 4;

/// Why the benchmark has no report.
#[derive(Debug, thiserror::Error)]
pub enum StreamsError {
    /// A sample failed.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// A chart could not be drawn.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// The directory of the charts could not be made.
    #[error("cannot make the directory of the charts: {0}")]
    Directory(#[from] io::Error),
    /// The report could not be written as JSON.
    #[error("cannot write the report: {0}")]
    Report(#[from] serde_json::Error),
}

/// Runs the benchmark, draws its charts and prints its report.
pub fn run(settings: &StreamsSettings) -> Result<(), StreamsError> {
    let plan = Plan::new(settings);
    // Not after minutes of measuring.
    std::fs::create_dir_all(&settings.out)?;
    let mut run = Run::new(&settings.rival);
    let cores = run.machine.cores;
    let threads = 2 * plan.stream_counts.last().copied().unwrap_or(1);
    if threads > cores {
        run.notes.push(format!(
            "{threads} client threads on {cores} cores: streams wait for each other, so scaling shows in processor time \
             per message and not in totals"
        ));
    }
    let bench = Bench { plan: &plan, libzmq: &settings.rival.libzmq, has_rival: run.has_rival() };
    let cases = bench.measure_cases()?;
    let controls = bench.measure_controls()?;
    let ours: Vec<Control> =
        controls.iter().filter(|control| control.contender == ContenderName::Ours.text()).cloned().collect();
    let most = cases.iter().map(|case| case.ours_mbit * 1e6 / 8.0).fold(0.0, f64::max);
    let load = Load { bytes_per_s: most, copied_bytes_per_s: copied_bytes_per_s() };
    let conclusion = conclude(&ours, load, cores);
    let charts = charts::draw(&cases, Path::new(&settings.out))?;
    let report = Report { benchmark: "streams", run, cases, controls, conclusion, charts };
    match settings.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => print!("{}", table::render(&report)),
    }
    Ok(())
}

struct Bench<'a> {
    plan: &'a Plan,
    libzmq: &'a str,
    has_rival: bool,
}

/// What has been measured of one contender in one scenario.
struct Turn {
    contender: ContenderName,
    scenario: Scenario,
    samples: Vec<Sample>,
}

impl Turn {
    fn new(contender: ContenderName, transport: Transport, size: usize, stream_count: usize) -> Self {
        let (case, calls) = (CaseName::Throughput, vec![Calls::One]);
        let scenario = Scenario { case, transport, size, calls, stream_count };
        Self { contender, scenario, samples: Vec::new() }
    }
}

impl Bench<'_> {
    /// Each size by itself, all numbers of streams in turns.
    fn measure_cases(&self) -> Result<Vec<Case>, StreamsError> {
        let mut cases = Vec::new();
        for (index, &size) in self.plan.sizes.iter().enumerate() {
            eprintln!("streams {}/{}: {size} B", index + 1, self.plan.sizes.len() + 1);
            let mut turns = Vec::new();
            for &stream_count in &self.plan.stream_counts {
                for contender in self.contenders() {
                    turns.push(Turn::new(contender, TRANSPORT, size, stream_count));
                }
            }
            self.take_turns(&mut turns, self.plan.repeat_count, self.plan.message_count)?;
            for &streams in &self.plan.stream_counts {
                let of = |contender| {
                    let turn = turns
                        .iter()
                        .find(|turn| turn.contender == contender && turn.scenario.stream_count == streams);
                    turn.map_or(&[][..], |turn| &turn.samples)
                };
                let (ours, rival) = (of(ContenderName::Ours), of(ContenderName::Libzmq));
                cases.extend(Case::new(size, streams, self.plan.message_count, ours, rival));
            }
        }
        Ok(cases)
    }

    /// Ours over every transport of the controls; the rival beside it where the test itself runs.
    fn measure_controls(&self) -> Result<Vec<Control>, StreamsError> {
        let count = self.plan.sizes.len() + 1;
        eprintln!("streams {count}/{count}: processor time, {CONTROL_SIZE} B");
        let mut turns = Vec::new();
        for transport in CONTROL_TRANSPORTS {
            for contender in self.contenders() {
                if contender == ContenderName::Ours || transport == TRANSPORT {
                    let counts = self.plan.stream_counts.iter();
                    turns.extend(counts.map(|&count| Turn::new(contender, transport, CONTROL_SIZE, count)));
                }
            }
        }
        let message_count = self.plan.control_message_count;
        self.take_turns(&mut turns, self.plan.control_repeat_count, message_count)?;
        let mut controls: Vec<Control> = Vec::new();
        let mut first = 0.0;
        for turn in &turns {
            let Scenario { transport, size, stream_count, .. } = turn.scenario;
            let name = contender_name(turn.contender);
            let control = Control::new(name, transport, size, stream_count, message_count, &turn.samples);
            let Some(control) = control else { continue };
            if self.plan.stream_counts.first() == Some(&stream_count) {
                first = control.cpu_s_per_million;
            }
            controls.push(control.rising_from(first));
        }
        Ok(controls)
    }

    fn contenders(&self) -> impl Iterator<Item = ContenderName> {
        let rival = self.has_rival.then_some(ContenderName::Libzmq);
        std::iter::once(ContenderName::Ours).chain(rival)
    }

    fn take_turns(
        &self,
        turns: &mut [Turn],
        repeat_count: u32,
        message_count: u64,
    ) -> Result<(), StreamsError> {
        for _ in 0..repeat_count {
            for turn in turns.iter_mut() {
                let subject = Subject {
                    scenario: &turn.scenario,
                    contender: turn.contender,
                    calls: Calls::One,
                    libzmq: self.libzmq,
                };
                let sample = subject.sample(message_count)?;
                turn.samples.push(sample);
            }
        }
        Ok(())
    }
}

fn contender_name(contender: ContenderName) -> &'static str {
    match contender {
        ContenderName::Libzmq => RIVAL_NAME,
        ContenderName::Ours | ContenderName::Limit => contender.text(),
    }
}

/// The best of a few copies of memory that no cache holds.
fn copied_bytes_per_s() -> f64 {
    let source = vec![1_u8; COPY_SIZE];
    let mut target = vec![0_u8; COPY_SIZE];
    let rates = (0..COPY_COUNT).map(|_| {
        let start = Instant::now();
        target.copy_from_slice(std::hint::black_box(&source));
        std::hint::black_box(&target);
        COPY_SIZE as f64 / start.elapsed().as_secs_f64()
    });
    rates.fold(0.0, f64::max)
}
