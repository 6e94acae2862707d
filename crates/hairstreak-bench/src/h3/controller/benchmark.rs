//! The benchmark: plans, makes all runs, and reports.
//!
//! Invariants: the contenders of a size are measured one after the other, in each round of runs, so that the machine's drift
//! meets all alike; progress goes to standard error, the report alone to standard output.

use std::path::Path;

use super::cluster::{Cluster, Run};
use super::error::H3Error;
use super::progress::Progress;
use crate::arguments::H3Settings;
use crate::h3::contender::{Broker, Target, Transport};
use crate::h3::plan::Plan;
use crate::h3::results::{self, Record, Report};
use crate::run;

const MIB: u64 = 1 << 20;
/// The part of the available memory that the messages of a run may have.
const MEMORY_PART: u64 = 4;

/// Runs the benchmark, writes its files and prints its report.
pub fn run(settings: &H3Settings) -> Result<(), H3Error> {
    let mut cluster = Cluster::start(&settings.hosts, &settings.rabbitmq)?;
    let mut notes = Vec::new();
    let contenders = contenders(settings, &cluster, &mut notes)?;
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
    let report = Report::new(run, &plan, memory_bytes, cluster.machines(), records);
    drop(cluster);
    let files = results::write(&report, Path::new(&settings.out))?;
    match settings.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => print!("{}", results::render(&report, &files)),
    }
    Ok(())
}

/// The transports and targets to measure, in turns.
fn contenders(
    settings: &H3Settings,
    cluster: &Cluster,
    notes: &mut Vec<String>,
) -> Result<Vec<(Transport, Target)>, H3Error> {
    let asked =
        |transport: Transport| settings.transports.is_empty() || settings.transports.contains(&transport);
    let mut transports: Vec<Transport> =
        [Transport::Tcp, Transport::Shm].into_iter().filter(|&transport| asked(transport)).collect();
    if !cluster.is_local && transports.contains(&Transport::Shm) {
        transports.retain(|&transport| transport != Transport::Shm);
        notes.push("shm was left out: hosts share no memory".to_owned());
    }
    if transports.is_empty() {
        return Err(H3Error::Nothing("--transport shm with --host: hosts share no memory".to_owned()));
    }
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
