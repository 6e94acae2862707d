//! The run of the benchmark: idle connections and hostile load first, then the contenders in turns, then the report.

use std::net::Ipv4Addr;
use std::rc::Rc;

use anyhow::{Context, Result};
use hairstreak_process::raise_descriptor_limit;

use super::amqp::Link;
use super::conclusion::conclude;
use super::plan::{CaseName, Plan, Settings};
use super::report::{Evidence, tables};
use super::sample::Subject;
use super::server::{Running, ServerKind, ServerTask, is_installed};
use super::{hostile, idle};
use crate::frame::cores::CoreRange;
use crate::frame::tracer::Tracer;
use crate::frame::{Report, Rival, Setting, Table, take_turns};

/// Runs the benchmark and prints its report.
pub fn run(settings: &Settings) -> Result<()> {
    let plan = Plan::new(settings);
    let (kinds, mut notes) = contenders(settings);
    // Ten thousand connections need as many descriptors, here and in the broker.
    raise_descriptor_limit();
    let title = "Idle connections with a channel each";
    let mut connections = Table { key: "connections", title, rows: Vec::new(), legend: "" };
    let title = "In and out 16 B beside a hostile load, messages a second (median [min-max])";
    let mut load = Table { key: "hostile", title, rows: Vec::new(), legend: "" };
    let mut conclusion = Vec::new();
    // The limit has no memory to speak of.
    for &kind in kinds.iter().filter(|&&kind| kind != ServerKind::Limit) {
        if let Some(count) = plan.connection_count {
            eprintln!("broker: {count} idle connections, {}", kind.text());
            let row = idle::measure(&start(settings, kind, None)?, count, &mut conclusion)?;
            connections.rows.extend(row);
        }
        if let Some(count) = plan.hostile_count {
            let server = Rc::new(start(settings, kind, None)?);
            load.rows.extend(hostile::measure(&server, count, &plan, &mut conclusion)?);
        }
    }

    let mut subjects: Vec<Subject> = Vec::new();
    for &scenario in &plan.scenarios {
        for &kind in kinds.iter().filter(|&&kind| is_measured(scenario.case, kind)) {
            let loop_count = scenario.loop_count;
            let is_there =
                |other: &&Subject| other.server.kind == kind && other.scenario.loop_count == loop_count;
            let server = match subjects.iter().find(is_there) {
                Some(other) => Rc::clone(&other.server),
                None => Rc::new(start(settings, kind, loop_count)?),
            };
            subjects.push(Subject { server, scenario, sample_s: plan.sample_s });
        }
    }
    note_cores(&plan, &mut notes);
    let mut servers = subjects.iter().map(|subject| &subject.server);
    let rival = servers.find(|server| server.kind == ServerKind::RabbitMq);
    let version = rival.map(|rival| Link::open(rival.address)).transpose().context("the rival")?;
    let rivals = version.into_iter().map(|Link { version, .. }| Rival { name: "RabbitMQ", version });
    let setting = Setting::new(rivals.collect(), notes);

    let samples = take_turns("broker", plan.repeat_count, &subjects, Subject::sample)?;
    let tracer = if subjects.is_empty() { None } else { Tracer::detect() };
    let mut evidence = Vec::new();
    for (subject, samples) in subjects.iter().zip(samples) {
        let system_calls = tracer.map(|tracer| subject.count_system_calls(tracer)).transpose()?.flatten();
        let (scenario, kind) = (subject.scenario, subject.server.kind);
        evidence.push(Evidence { scenario, kind, samples, system_calls });
    }
    conclusion.splice(0..0, conclude(&evidence));
    let n = if subjects.is_empty() { 1 } else { plan.repeat_count };
    let about = format!("AMQP 0-9-1 over loopback TCP, n = {n}");
    let tables = tables(&evidence, tracer.map(Tracer::name)).into_iter().chain([connections, load]).collect();
    Report { study: "broker", setting, about, tables, conclusion, charts: Vec::new() }
        .print(settings.common.json)
}

/// Returns the contenders that are there, ours first, and notes about the others.
fn contenders(settings: &Settings) -> (Vec<ServerKind>, Vec<String>) {
    let (mut kinds, mut notes) = (Vec::new(), Vec::new());
    match settings.no_node {
        true => notes.push("our node was left out".to_owned()),
        false => kinds.push(ServerKind::Node),
    }
    match (settings.no_rival, is_installed(&settings.rabbitmq)) {
        (true, _) => notes.push("RabbitMQ was left out".to_owned()),
        (false, true) => kinds.push(ServerKind::RabbitMq),
        (false, false) => notes.push(format!(
            "no RabbitMQ here ({} is not there; Debian's package is rabbitmq-server)",
            settings.rabbitmq
        )),
    }
    kinds.push(ServerKind::Limit);
    (kinds, notes)
}

/// Returns whether a case has this contender. Only our node has event loops to compare.
fn is_measured(case: CaseName, kind: ServerKind) -> bool {
    case != CaseName::HotQueue || kind == ServerKind::Node
}

fn note_cores(plan: &Plan, notes: &mut Vec<String>) {
    let core_count = std::thread::available_parallelism().map_or(1, usize::from);
    let loop_counts = plan.scenarios.iter().filter_map(|scenario| scenario.loop_count);
    let loop_count = loop_counts.max().unwrap_or(0) as usize;
    if core_count < 2 * loop_count {
        notes.push(format!(
            "{core_count} cores are too few for {loop_count} event loops and clients on other cores: hot queue says little"
        ));
    }
}

/// Starts a broker, or takes the node that runs already.
fn start(settings: &Settings, kind: ServerKind, loop_count: Option<u32>) -> Result<Running> {
    if let (ServerKind::Node, None, Some(address)) = (kind, loop_count, settings.node) {
        return Ok(Running::at(kind, address, settings.node_process));
    }
    Running::start(&ServerTask {
        kind,
        loop_count,
        cores: loop_count.map(|count| CoreRange { start: 0, end: count as usize }),
        rabbitmq: settings.rabbitmq.clone(),
        host: Ipv4Addr::LOCALHOST.into(),
        memory_bytes: None,
    })
}
