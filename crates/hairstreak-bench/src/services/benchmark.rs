//! The run of the benchmark: lets the contenders take turns, reports.
//!
//! Invariants: within one repeat every contender of every row is measured once before any is measured again, so that the
//! machine's drift meets all alike; progress goes to standard error, the report alone to standard output.

use super::part::{CAPACITY, PLAIN_CAPACITY, YIELD_US};
use super::plan::Plan;
use super::report::{Case, Evidence, Report};
use super::sample::{SampleError, Subject};
use super::table;
use super::task::ServiceCase;
use crate::arguments::ServicesSettings;
use crate::run::Run;

/// Why the benchmark has no report.
#[derive(Debug, thiserror::Error)]
pub enum ServicesError {
    /// A sample failed.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// The report could not be written as JSON.
    #[error("cannot write the report: {0}")]
    Report(#[from] serde_json::Error),
}

/// Runs the benchmark and prints its report.
pub fn run(settings: &ServicesSettings) -> Result<(), ServicesError> {
    let plan = Plan::new(settings);
    let mut run = Run::new(&settings.rival);
    let has = |case| plan.rows.iter().any(|row| row.case == case);
    if has(ServiceCase::Tripping) {
        run.notes.push(format!(
            "through a proxy ours yields the processor for {YIELD_US} us before it sleeps (yield_us); all else is as by default"
        ));
    }
    if has(ServiceCase::Services) {
        run.notes.push(format!(
            "our workers say that they may have {CAPACITY} requests at a time; all else is as by default"
        ));
    }
    if run.has_rival() && has(ServiceCase::StockedPlainWorkers) {
        run.notes.push(format!(
            "stocked plain workers do one request at a time, and the next {} wait in their sockets (serve --limit plain-capacity={PLAIN_CAPACITY})",
            PLAIN_CAPACITY - 1
        ));
    }
    if !run.has_rival() && (has(ServiceCase::PlainWorkers) || has(ServiceCase::StockedPlainWorkers)) {
        run.notes.push("plain workers are the rival's, and were left out with it".to_owned());
    }
    let evidence = measure(&plan, &settings.rival.libzmq, run.has_rival())?;
    let cases: Vec<Case> =
        plan.rows.iter().zip(&evidence).filter_map(|(&row, evidence)| Case::new(row, evidence)).collect();
    let conclusion = cases.iter().filter_map(Case::verdict).collect();
    let report = Report { benchmark: "services", run, cases, conclusion };
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
        for (&row, evidence) in plan.rows.iter().zip(&mut evidence) {
            for &scheme in row.schemes(has_rival) {
                eprintln!("services {repeat}/{}: {}, {}", plan.repeat_count, row.text(), scheme.text());
                let subject = Subject { scheme, row, request_count: plan.request_count(row), libzmq };
                evidence.add(scheme, subject.sample()?);
            }
        }
    }
    Ok(evidence)
}
