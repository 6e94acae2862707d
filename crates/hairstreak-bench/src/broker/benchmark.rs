//! The run of the benchmark: idle connections and hostile load first, then the contenders in turns, then the report.

use std::env;
use std::net::Ipv4Addr;
use std::rc::Rc;

use anyhow::{Context, Result, bail, ensure};
use hairstreak_process::raise_descriptor_limit;

use super::amqp::Link;
use super::conclusion::conclude;
use super::plan::{CaseName, Plan, Scenario, Settings};
use super::report::{Evidence, tables};
use super::sample::Subject;
use super::server::{Durable, Running, ServerKind, ServerTask, is_installed};
use super::{beside, hostile, idle, paging, restart};
use crate::frame::cores::CoreRange;
use crate::frame::disk::DiskProbe;
use crate::frame::tracer::Tracer;
use crate::frame::{Report, Rival, Setting, Table, name, take_turns};

/// Runs the benchmark and prints its report.
pub fn run(settings: &Settings) -> Result<()> {
    if let Some(case) = settings.cases.iter().find(|case| case.is_durable() != settings.durable) {
        let with = if settings.durable { "without" } else { "with" };
        bail!("--case: '{}' can only be measured {with} --durable", name(case));
    }
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

    let brokers = kinds.iter().filter(|&&kind| kind != ServerKind::Limit);
    let tasks: Vec<ServerTask> = brokers.map(|&kind| task(settings, kind, None)).collect();
    let open = || DiskProbe::open(&env::temp_dir()).map(Rc::new);
    let probe = settings.durable.then(open).transpose()?;
    let (mut stored, mut failures) = (Vec::new(), Vec::new());
    if let Some(probe) = &probe {
        stored.push(restart::measure(&plan, &tasks, probe, &mut conclusion)?);
        let paged = tasks.iter().filter(|task| task.kind == ServerKind::Node || settings.rivals);
        let paged: Vec<ServerTask> = paged.cloned().collect();
        stored.push(paging::measure(&plan, &paged, probe, &mut conclusion, &mut failures)?);
        let ours = tasks.iter().find(|task| task.kind == ServerKind::Node && plan.has_beside);
        stored.extend(
            ours.map(|task| beside::measure(&plan, task, &mut conclusion, &mut failures)).transpose()?,
        );
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
            let is_new = Rc::strong_count(&server) == 1;
            let subject = Subject { server, scenario, sample_s: plan.sample_s, probe: probe.clone() };
            if is_new && settings.durable {
                let scenario = Scenario { case: CaseName::Persistent, size: 1024, loop_count };
                let subject =
                    Subject { server: Rc::clone(&subject.server), probe: None, scenario, ..subject };
                subject.warm_up()?;
            }
            subjects.push(subject);
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
    conclusion.splice(0..0, conclude(&evidence, settings.sync_delay.is_some()));
    let n = if subjects.is_empty() && stored.is_empty() { 1 } else { plan.repeat_count };
    let about = format!("AMQP 0-9-1 over loopback TCP, n = {n}");
    let tables = tables(&evidence, tracer.map(Tracer::name)).into_iter().chain([connections, load]);
    let tables = tables.chain(stored).collect();
    Report { study: "broker", setting, about, tables, conclusion, charts: Vec::new() }
        .print(settings.common.json)?;
    ensure!(failures.is_empty(), "{}", failures.join("; "));
    Ok(())
}

/// Returns the contenders that are there, ours first, and notes about the others.
fn contenders(settings: &Settings) -> (Vec<ServerKind>, Vec<String>) {
    let (mut kinds, mut notes) = (Vec::new(), Vec::new());
    match settings.no_node {
        true => notes.push("our node was left out".to_owned()),
        false => kinds.push(ServerKind::Node),
    }
    if let Some(delay) = settings.sync_delay {
        notes.push(format!("each sync of our node and of the limit took {delay} ms longer"));
    }
    match (settings.no_rival || settings.sync_delay.is_some(), is_installed(&settings.rabbitmq)) {
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

/// Returns whether a case has this contender. Only our node has event loops to compare, and the limit syncs every message.
fn is_measured(case: CaseName, kind: ServerKind) -> bool {
    match case {
        CaseName::HotQueue => kind == ServerKind::Node,
        CaseName::TransientPublishers => kind != ServerKind::Limit,
        _ => true,
    }
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
    Running::start(&task(settings, kind, loop_count))
}

fn task(settings: &Settings, kind: ServerKind, loop_count: Option<u32>) -> ServerTask {
    ServerTask {
        kind,
        loop_count,
        cores: loop_count.map(|count| CoreRange { start: 0, end: count as usize }),
        rabbitmq: settings.rabbitmq.clone(),
        host: Ipv4Addr::LOCALHOST.into(),
        memory_bytes: None,
        durable: settings.durable.then(|| Durable { sync_delay_ms: settings.sync_delay.unwrap_or(0) }),
    }
}
