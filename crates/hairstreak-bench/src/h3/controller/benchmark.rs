//! The benchmark: plans, makes all runs, and reports.
//!
//! Invariants: the contenders of a size are measured one after the other, in each round of runs, so that the machine's drift
//! meets all alike; progress goes to standard error, the report alone to standard output.

use std::path::Path;

use clap::ValueEnum;

use super::cluster::{Cluster, Run};
use super::error::H3Error;
use super::fabric::OwnFabric;
use super::progress::Progress;
use crate::arguments::H3Settings;
use crate::h3::contender::{Broker, Target, Transport};
use crate::h3::plan::Plan;
use crate::h3::results::{self, Record, Report};
use crate::run;

const BETWEEN_HOSTS: &str = "only tcp goes from host to host";
const MIB: u64 = 1 << 20;
/// The part of the available memory that the messages of a run may have.
const MEMORY_PART: u64 = 4;

/// Runs the benchmark, writes its files and prints its report.
pub fn run(settings: &H3Settings) -> Result<(), H3Error> {
    let mut notes = Vec::new();
    let transports = transports(settings, &mut notes)?;
    let fabric = transports.contains(&Transport::Vortex).then(OwnFabric::start).transpose()?;
    let mut cluster = Cluster::start(&settings.hosts, &settings.rabbitmq, fabric.as_ref())?;
    let contenders = contenders(settings, &transports, &cluster, &mut notes)?;
    let memory_bytes = settings.memory_mib.map_or(cluster.memory_bytes() / MEMORY_PART, |mib| mib * MIB);
    let sizes: Vec<usize> = settings.sizes.iter().map(|&size| size as usize).collect();
    let plan = Plan::new(settings.scale, memory_bytes, &sizes);
    std::fs::create_dir_all(&settings.out)
        .map_err(|error| H3Error::Write { file: settings.out.clone(), error })?;
    let runs = runs(&plan, &contenders);
    let mut progress = Progress::new(runs.len());
    let mut records = Vec::new();
    for run in &runs {
        let outcome = cluster.measure(&plan, run)?;
        let record = Record::new(run, &plan, &outcome)?;
        progress.note(&run.text(), record.statistics.mean);
        records.push(record);
    }
    let run = run::Run::against(Vec::new(), notes);
    let facts = fabric.as_ref().map(|fabric| fabric.facts);
    let report = Report::new(run, &plan, memory_bytes, cluster.machines(), facts, records);
    drop(cluster);
    let files = results::write(&report, Path::new(&settings.out))?;
    match settings.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => print!("{}", results::render(&report, &files)),
    }
    Ok(())
}

/// The transports to measure: between hosts only tcp.
fn transports(settings: &H3Settings, notes: &mut Vec<String>) -> Result<Vec<Transport>, H3Error> {
    let all = Transport::value_variants().iter().copied();
    let is_asked =
        |transport: &Transport| settings.transports.is_empty() || settings.transports.contains(transport);
    let (mut transports, mut left_out) = (Vec::new(), Vec::new());
    for transport in all.filter(is_asked) {
        match settings.hosts.is_empty() || transport == Transport::Tcp {
            true => transports.push(transport),
            false => left_out.push(transport.text()),
        }
    }
    if transports.is_empty() {
        let reason = format!("--transport {} with --host: {BETWEEN_HOSTS}", left_out.join(","));
        return Err(H3Error::Nothing(reason));
    }
    notes.extend(left_out.iter().map(|transport| format!("{transport} was left out: {BETWEEN_HOSTS}")));
    Ok(transports)
}

/// The transports and targets to measure, in turns.
fn contenders(
    settings: &H3Settings,
    transports: &[Transport],
    cluster: &Cluster,
    notes: &mut Vec<String>,
) -> Result<Vec<(Transport, Target)>, H3Error> {
    let mut brokers = settings.brokers.clone();
    if brokers.is_empty() {
        brokers.push(Broker::Hairstreak);
        match cluster.has_rabbitmq() {
            true => brokers.push(Broker::Rabbitmq),
            false => notes.push(format!(
                "RabbitMQ was left out ({} is not there; Debian's package is rabbitmq-server)",
                settings.rabbitmq
            )),
        }
    } else if brokers.contains(&Broker::Rabbitmq) && !cluster.has_rabbitmq() {
        return Err(H3Error::Nothing(format!(
            "--broker rabbitmq: {} is not there; Debian's package is rabbitmq-server",
            settings.rabbitmq
        )));
    }
    let mut contenders: Vec<(Transport, Target)> =
        transports.iter().map(|&transport| (transport, Target::Across)).collect();
    if brokers.contains(&Broker::Hairstreak) {
        contenders.extend(transports.iter().map(|&transport| (transport, Target::Hairstreak)));
    }
    if brokers.contains(&Broker::Rabbitmq) {
        let straight = transports.iter().filter(|&&transport| transport == Transport::Tcp);
        contenders.extend(straight.map(|&transport| (transport, Target::Rabbitmq)));
        contenders.extend(transports.iter().map(|&transport| (transport, Target::RabbitmqLoopback)));
    }
    Ok(contenders)
}

fn runs(plan: &Plan, contenders: &[(Transport, Target)]) -> Vec<Run> {
    let mut runs = Vec::new();
    for &row in &plan.rows {
        for number in 1..=row.runs {
            runs.extend(contenders.iter().map(|&(transport, target)| Run { transport, target, row, number }));
        }
    }
    runs
}
