//! The benchmark: plans, makes all runs, and reports.
//!
//! Invariants: the contenders of a size are measured one after the other, in each round of runs, so that the machine's drift
//! meets all alike; progress goes to standard error, the report alone to standard output.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;

use super::cluster::{Cluster, Run};
use super::fabric::OwnFabric;
use crate::frame::{Row, Setting, Value, chosen, name, rate};
use crate::h3::contender::{Broker, Contender, Target, Transport};
use crate::h3::plan::{Plan, Settings};
use crate::h3::results::{self, Record, Report};

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
    let contenders = contenders(settings, &transports, &cluster, &mut notes)?;
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
    let agents = agents.collect();
    let facts = fabric.as_ref().map(|fabric| fabric.facts);
    drop(cluster);
    let report = Report { setting: Setting::new(Vec::new(), notes), plan, agents, fabric: facts, records };
    results::publish(&report, Path::new(&settings.out), settings.json)
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
    let asked = chosen(&settings.transports, Transport::value_variants());
    let asked = Transport::value_variants().iter().copied().filter(|transport| asked.contains(transport));
    let (transports, left_out): (Vec<Transport>, Vec<Transport>) =
        asked.partition(|&transport| settings.hosts.is_empty() || transport == Transport::Tcp);
    let left_out: Vec<String> = left_out.iter().map(name).collect();
    if transports.is_empty() {
        bail!("--transport {} with --host: {BETWEEN_HOSTS}", left_out.join(","));
    }
    notes.extend(left_out.iter().map(|transport| format!("{transport} was left out: {BETWEEN_HOSTS}")));
    Ok(transports)
}

/// The transports and targets to measure, in turns.
fn contenders(
    settings: &Settings,
    transports: &[Transport],
    cluster: &Cluster,
    notes: &mut Vec<String>,
) -> Result<Vec<Contender>> {
    let absent = format!("{} is not there; Debian's package is rabbitmq-server", settings.rabbitmq);
    let mut brokers = chosen(&settings.brokers, Broker::value_variants()).to_vec();
    if !cluster.has_rabbitmq() {
        ensure!(!settings.brokers.contains(&Broker::Rabbitmq), "--broker rabbitmq: {absent}");
        brokers.retain(|&broker| broker != Broker::Rabbitmq);
        if settings.brokers.is_empty() {
            notes.push(format!("RabbitMQ was left out ({absent})"));
        }
    }
    let mut contenders = Vec::new();
    for &target in Target::value_variants() {
        if target.broker().is_none_or(|broker| brokers.contains(&broker)) {
            // RabbitMQ listens over tcp alone.
            let is_possible = |transport| target != Target::Rabbitmq || transport == Transport::Tcp;
            let transports = transports.iter().copied().filter(|&transport| is_possible(transport));
            contenders.extend(transports.map(|transport| Contender { transport, target }));
        }
    }
    Ok(contenders)
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
