//! The run of the benchmark: lets the contenders take turns, reports.
//!
//! Invariants: within one repeat every contender of every row is measured once, those of one row after each other, before
//! any is measured again, so that the machine's drift meets all alike, and few in flight as many; progress goes to standard error, the report alone to standard output.

use std::io;
use std::path::Path;

use hairstreak_chart::ChartError;

use super::chart;
use super::conclusion;
use super::plan::{Plan, Row};
use super::report::{Case, Evidence, Report};
use super::sample::{SampleError, Subject};
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
    let evidence = measure(&plan, &settings.rival.libzmq, run.has_rival())?;
    let mut cases: Vec<Case> = plan
        .rows
        .iter()
        .zip(&evidence)
        .filter_map(|(&row, evidence)| Case::new(row, plan.transport, evidence))
        .collect();
    let windows = conclusion::compare_windows(&mut cases);
    let conclusion = cases.iter().filter_map(Case::verdict).chain(windows).collect();
    let chart = settings.out.as_ref().map(|directory| chart::draw(&cases, Path::new(directory)));
    let charts = chart.transpose()?.unwrap_or_default();
    let report = Report { benchmark: "pipeline", run, cases, conclusion, charts };
    match settings.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => print!("{}", table::render(&report)),
    }
    Ok(())
}

/// The samples of all rows, the contenders in turns.
fn measure(plan: &Plan, libzmq: &str, has_rival: bool) -> Result<Vec<Evidence>, SampleError> {
    let mut evidence: Vec<Evidence> = plan.rows.iter().map(|_| Evidence::default()).collect();
    for repeat in 1..=plan.repeat_count {
        let mut announced = None;
        for (&row, evidence) in plan.rows.iter().zip(&mut evidence) {
            if announced.replace(row.task_us) != Some(row.task_us) {
                eprintln!("pipeline {repeat}/{}: tasks of {} us", plan.repeat_count, row.task_us);
            }
            for &scheme in plan.schemes(row, has_rival) {
                evidence.of(scheme).push(subject(plan, row, scheme, libzmq).sample()?);
            }
        }
    }
    Ok(evidence)
}

fn subject<'a>(plan: &Plan, row: Row, scheme: Scheme, libzmq: &'a str) -> Subject<'a> {
    Subject {
        scheme,
        transport: plan.transport,
        in_flight_count: row.in_flight_count,
        task_count: plan.task_count(scheme, row),
        task_us: row.task_us,
        libzmq,
    }
}
