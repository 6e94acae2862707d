//! The run of the benchmark: idle connections first, then the contenders in turns, then the report.
//!
//! Invariants: within one repeat every contender of every row is measured once, those of one row after each other, before
//! any is measured again, so that the machine's drift meets all alike; progress goes to standard error, the report
//! alone to standard output.

use super::amqp::AmqpError;
use super::conclusion::conclude;
use super::hostile::{self, HostileError, HostileRow};
use super::idle::{self, IdleError, IdleRow};
use super::plan::{Plan, Row};
use super::report::{Case, Evidence, Report};
use super::sample::{SampleError, Subject};
use super::server::{Running, ServerError, ServerKind, raise_descriptor_limit};
use super::servers::Servers;
use super::table;
use crate::arguments::BrokerSettings;
use crate::cores::CoreRange;
use crate::machine::Machine;
use crate::run::Run;
use crate::tracer::Tracer;

/// System calls are counted in samples of this part of the usual time, because a tracer may slow everything down.
const COUNTED_SHARE: f64 = 0.25;

/// Why the benchmark has no report.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// A broker could not be tested.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A sample failed.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// The idle connections failed.
    #[error(transparent)]
    Idle(#[from] IdleError),
    /// The good client or its load failed.
    #[error(transparent)]
    Hostile(#[from] HostileError),
    /// The rival does not say who it is.
    #[error("the rival: {0}")]
    Rival(#[from] AmqpError),
    /// The report could not be written as JSON.
    #[error("cannot write the report: {0}")]
    Report(#[from] serde_json::Error),
}

/// Runs the benchmark and prints its report.
pub fn run(settings: &BrokerSettings) -> Result<(), BrokerError> {
    let plan = Plan::new(settings);
    let mut notes = Vec::new();
    let mut servers = Servers::new(settings, &mut notes);
    note_cores(&plan, &mut notes);
    raise_descriptor_limit()?;
    let connections = match plan.connection_count {
        Some(count) => measure_connections(&servers, count)?,
        None => Vec::new(),
    };
    let hostile = match plan.hostile_count {
        Some(count) => measure_hostile(&plan, &servers, count)?,
        None => Vec::new(),
    };
    servers.start(&plan)?;
    let run = Run::against(servers.rival()?.into_iter().collect(), notes);
    let mut evidence = measure(&plan, &servers)?;
    let tracer = if plan.rows.is_empty() { None } else { Tracer::detect() };
    if let Some(tracer) = tracer {
        count_system_calls(&plan, &servers, tracer, &mut evidence)?;
    }
    let rows = plan.rows.iter().zip(&evidence);
    let cases: Vec<Case> = rows.filter_map(|(&row, evidence)| Case::new(row, evidence)).collect();
    let conclusion = conclude(&cases, &connections, &hostile);
    let system_calls_counted_by = tracer.map(Tracer::name);
    let report =
        Report { benchmark: "broker", run, system_calls_counted_by, cases, connections, hostile, conclusion };
    match settings.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => print!("{}", table::render(&report)),
    }
    Ok(())
}

fn note_cores(plan: &Plan, notes: &mut Vec<String>) {
    let core_count = Machine::here().cores;
    let loop_count = plan.rows.iter().filter_map(|row| row.loop_count).max().unwrap_or(0) as usize;
    if core_count < 2 * loop_count {
        notes.push(format!(
            "{core_count} cores are too few for {loop_count} event loops and clients on other cores: hot queue says little"
        ));
    }
}

/// Each contender but the limit, which has no memory to speak of.
fn measure_connections(servers: &Servers<'_>, count: u32) -> Result<Vec<IdleRow>, BrokerError> {
    let mut rows = Vec::new();
    for &kind in servers.kinds.iter().filter(|&&kind| kind != ServerKind::Limit) {
        eprintln!("broker: {count} idle connections, {}", kind.text());
        let server = servers.start_one(kind, None)?;
        rows.extend(idle::measure(&server, count)?);
    }
    Ok(rows)
}

fn measure_hostile(plan: &Plan, servers: &Servers<'_>, count: u32) -> Result<Vec<HostileRow>, BrokerError> {
    let mut rows = Vec::new();
    for &kind in servers.kinds.iter().filter(|&&kind| kind != ServerKind::Limit) {
        let server = servers.start_one(kind, None)?;
        rows.extend(hostile::measure(&server, count, plan.repeat_count, plan.sample_s)?);
    }
    Ok(rows)
}

/// The samples of all rows, the contenders in turns.
fn measure(plan: &Plan, servers: &Servers<'_>) -> Result<Vec<Vec<Evidence>>, BrokerError> {
    let empty = |kind| Evidence { kind, samples: Vec::new(), system_calls: None };
    let rows = plan.rows.iter();
    let mut evidence: Vec<Vec<Evidence>> =
        rows.map(|&row| servers.contenders(row).into_iter().map(empty).collect()).collect();
    for repeat in 1..=plan.repeat_count {
        for (&row, evidence) in plan.rows.iter().zip(&mut evidence) {
            for Evidence { kind, samples, .. } in evidence {
                let Some(server) = servers.find(*kind, row.loop_count) else { continue };
                let subject = subject(server, row, plan.sample_s);
                eprintln!("broker {repeat}/{}: {}", plan.repeat_count, subject.text());
                samples.push(subject.sample()?);
            }
        }
    }
    Ok(evidence)
}

fn count_system_calls(
    plan: &Plan,
    servers: &Servers<'_>,
    tracer: Tracer,
    evidence: &mut [Vec<Evidence>],
) -> Result<(), BrokerError> {
    for (&row, evidence) in plan.rows.iter().zip(evidence) {
        // A paced sample is two in one.
        for evidence in evidence.iter_mut().filter(|_| !row.case.is_paced()) {
            let Some(server) = servers.find(evidence.kind, row.loop_count) else { continue };
            let subject = subject(server, row, plan.sample_s * COUNTED_SHARE);
            eprintln!("broker, system calls by {}: {}", tracer.name(), subject.text());
            evidence.system_calls = subject.count_system_calls(tracer)?;
        }
    }
    Ok(())
}

/// Clients of a node that keeps to some cores have the others.
fn subject(server: &Running, row: Row, sample_s: f64) -> Subject<'_> {
    let client_cores = row.loop_count.map(|count| CoreRange { start: count as usize, end: usize::MAX });
    Subject { server, row, sample_s, client_cores }
}
