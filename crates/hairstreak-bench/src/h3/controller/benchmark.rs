//! The benchmark: plans, makes all runs, and reports.
//!
//! Invariants: the contenders of a size are measured one after the other, in each round of runs, so that the machine's drift
//! meets all alike; progress goes to standard error, the report alone to standard output.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use super::cluster::{Cluster, Run};
use super::fabric::OwnFabric;
use crate::frame::{Row, Value, chosen, name, rate};
use crate::h3::contender::{Broker, Contender, Target, Transport};
use crate::h3::plan::{Plan, Settings};
use crate::h3::results::{self, Record, Results};

const BETWEEN_HOSTS: &str = "only tcp goes from host to host";
const MIB: u64 = 1 << 20;
/// The part of the available memory that the messages of a run may have.
const MEMORY_PART: u64 = 4;

/// Runs the benchmark, writes its files and prints its report.
pub fn run(settings: &Settings) -> Result<()> {
    let mut notes = Vec::new();
    let transports = transports(settings, &mut notes)?;
    let fabric = transports.contains(&Transport::Vortex).then(OwnFabric::start).transpose()?;
    let mut cluster = Cluster::start(&settings.hosts, &settings.rabbitmq, fabric.as_ref())?;
    let contenders = contenders(settings, &transports, cluster.has_rabbitmq(), &mut notes)?;
    let available = cluster.agents().map(|agent| agent.host.memory_bytes).min().unwrap_or_default();
    let memory_bytes = settings.memory_mib.map_or(available / MEMORY_PART, |mib| mib * MIB);
    let plan = Plan::new(settings.scale, memory_bytes, &settings.sizes);
    std::fs::create_dir_all(&settings.out).with_context(|| format!("cannot write {}", settings.out))?;
    let mut runs = Vec::new();
    for &row in &plan.rows {
        for number in 1..=row.runs {
            runs.extend(contenders.iter().map(|&contender| Run { contender, row, number }));
        }
    }
    let (begin, mut records) = (Instant::now(), Vec::new());
    for (index, run) in runs.iter().enumerate() {
        let record = Record::new(run, &plan, &cluster.measure(&plan, run)?)?;
        let (done, total, rate) = (index + 1, runs.len(), rate(record.statistics.mean));
        eprintln!("h3 {done}/{total}: {run}: {rate} messages/s; {}", time_left(begin.elapsed(), done, total));
        records.push(record);
    }
    let agents = cluster.agents().map(|agent| {
        let row = Row::default().show("name", "agent", Value::text(&agent.name));
        row.show("machine", "machine", Value::text(&agent.host.machine))
    });
    let (agents, fabric) = (agents.collect(), fabric.as_ref().map(|fabric| fabric.facts));
    let results = Results { plan, agents, fabric, records };
    results::publish(&results, notes, Path::new(&settings.out), settings.json)
}

/// The time of the runs to come at the pace of those before.
fn time_left(elapsed: Duration, done: usize, total: usize) -> String {
    let left = elapsed.as_secs_f64() / done as f64 * (total - done) as f64;
    match left.round() as u64 {
        0 => "done".to_owned(),
        seconds if seconds < 60 => format!("{seconds} s left"),
        seconds => format!("{} min {} s left", seconds / 60, seconds % 60),
    }
}

/// The transports to measure: between hosts only tcp.
fn transports(settings: &Settings, notes: &mut Vec<String>) -> Result<Vec<Transport>> {
    let mut transports = Transport::value_variants().to_vec();
    transports.retain(|transport| settings.transports.is_empty() || settings.transports.contains(transport));
    if !settings.hosts.is_empty() {
        let left_out: Vec<Transport> =
            transports.extract_if(.., |transport| *transport != Transport::Tcp).collect();
        let left_out: Vec<String> = left_out.iter().map(name).collect();
        ensure!(!transports.is_empty(), "--transport {} with --host: {BETWEEN_HOSTS}", left_out.join(","));
        notes.extend(left_out.iter().map(|transport| format!("{transport} was left out: {BETWEEN_HOSTS}")));
    }
    Ok(transports)
}

/// The transports and targets to measure, in turns.
fn contenders(
    settings: &Settings,
    transports: &[Transport],
    has_rabbitmq: bool,
    notes: &mut Vec<String>,
) -> Result<Vec<Contender>> {
    let mut brokers = chosen(&settings.brokers, Broker::value_variants()).to_vec();
    if !has_rabbitmq {
        let absent = format!("{} is not there; Debian's package is rabbitmq-server", settings.rabbitmq);
        ensure!(!settings.brokers.contains(&Broker::Rabbitmq), "--broker rabbitmq: {absent}");
        brokers.retain(|&broker| broker != Broker::Rabbitmq);
        if settings.brokers.is_empty() {
            notes.push(format!("RabbitMQ was left out ({absent})"));
        }
    }
    let targets = Target::value_variants().iter().copied();
    let targets = targets.filter(|target| target.broker().is_none_or(|broker| brokers.contains(&broker)));
    let contenders =
        targets.flat_map(|target| transports.iter().map(move |&transport| Contender { transport, target }));
    // RabbitMQ listens over tcp alone.
    let is_possible =
        |contender: &Contender| contender.target != Target::Rabbitmq || contender.transport == Transport::Tcp;
    Ok(contenders.filter(is_possible).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_that_of_the_runs_to_come_at_the_pace_of_those_before() {
        let left = |done, seconds| time_left(Duration::from_secs(seconds), done, 10);
        assert_eq!([left(2, 4), left(4, 60), left(10, 60)], ["16 s left", "1 min 30 s left", "done"]);
    }
}
