//! The run of the benchmark: lets the contenders take turns, reports.
//!
//! Invariants: within one repeat of a row every contender is measured once before any is measured again, so that the
//! machine's drift meets all alike; progress goes to standard error, the report alone to standard output.

use std::io;
use std::path::Path;

use super::chart::{self, ChartError};
use super::plan::{Plan, bound};
use super::report::{Case, Evidence, Report};
use super::sample::{Sample, SampleError, Subject};
use super::table;
use super::task::Scheme;
use crate::arguments::PipelineSettings;
use crate::run::Run;

/// Why the benchmark has no report.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// A sample failed.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// The chart could not be drawn.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// The directory of the chart could not be made.
    #[error("cannot make the directory of the chart: {0}")]
    Directory(#[from] io::Error),
    /// The report could not be written as JSON.
    #[error("cannot write the report: {0}")]
    Report(#[from] serde_json::Error),
}

/// Runs the benchmark and prints its report.
pub fn run(settings: &PipelineSettings) -> Result<(), PipelineError> {
    let plan = Plan::new(settings);
    if let Some(directory) = &settings.out {
        // Not after minutes of measuring.
        std::fs::create_dir_all(directory)?;
    }
    let run = Run::new(&settings.rival);
    let mut cases = Vec::new();
    for (index, &in_flight_count) in plan.in_flight_counts.iter().enumerate() {
        eprintln!("pipeline {}/{}: {in_flight_count} in flight", index + 1, plan.in_flight_counts.len());
        let evidence = measure(&plan, in_flight_count, &settings.rival.libzmq, run.has_rival())?;
        cases.extend(Case::new(in_flight_count, bound(Scheme::Window, in_flight_count), &evidence));
    }
    let conclusion = cases.iter().filter_map(Case::verdict).collect();
    let chart = settings.out.as_ref().map(|directory| chart::draw(&cases, Path::new(directory)));
    let charts = chart.transpose()?.into_iter().collect();
    let report = Report { benchmark: "pipeline", run, cases, conclusion, charts };
    match settings.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => print!("{}", table::render(&report)),
    }
    Ok(())
}

/// One row, its contenders in turns.
fn measure(
    plan: &Plan,
    in_flight_count: u64,
    libzmq: &str,
    has_rival: bool,
) -> Result<Evidence, SampleError> {
    let sample = |scheme: Scheme, samples: &mut Vec<Sample>| {
        let subject = Subject {
            scheme,
            in_flight_count: bound(scheme, in_flight_count),
            task_count: plan.task_count(scheme, in_flight_count),
            libzmq,
        };
        subject.sample().map(|sample| samples.push(sample))
    };
    let mut evidence = Evidence::default();
    for _ in 0..plan.repeat_count {
        sample(Scheme::Window, &mut evidence.ours)?;
        if has_rival {
            sample(Scheme::Batches, &mut evidence.batches)?;
            sample(Scheme::Blocks, &mut evidence.blocks)?;
        }
    }
    Ok(evidence)
}
