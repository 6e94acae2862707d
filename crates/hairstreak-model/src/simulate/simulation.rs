//! `Simulation`: the outcome of a simulated run, and its bottleneck.

use serde::Serialize;

use super::engine::Engine;
use super::layout::Role;
use super::load::{Arrivals, Load};
use super::tally::Level;
use crate::network::Network;
use crate::pipeline::Pipeline;

/// The largest distance from the busiest part at which a likelier cause is named as the bottleneck.
const TOLERANCE: f64 = 0.05;
/// With random arrivals, a part that is busy for less than this share of the time is no bottleneck.
const BUSY_MIN: f64 = 0.9;

/// The outcome of a simulated run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Simulation {
    /// The number of messages.
    pub messages: u64,
    /// The number of messages that were simulated one by one. The others follow at the steady rate.
    pub exact_messages: u64,
    /// The time from the start of the first message to the result of the last, in seconds.
    pub makespan_s: f64,
    /// `messages / makespan_s`. `None` if the run takes no time.
    pub predicted_per_s: Option<f64>,
    /// Results a second while the pipeline is full: the rate of the middle half of the messages.
    pub steady_per_s: Option<f64>,
    /// The time of a message from the source to the sink. If the source is faster than the stages, most of this time is waiting.
    pub latency: Latency,
    /// The number of messages between the source and the sink.
    pub in_flight: Depth,
    /// The average number of busy cores.
    pub cores_busy: f64,
    /// Source, stages, hubs and sink, in the order in which messages pass them.
    pub stations: Vec<Station>,
    /// The part that limits the rate.
    pub bottleneck: Bottleneck,
}

/// The distribution of the latency of messages, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// The mean.
    pub mean_s: f64,
    /// The median.
    pub p50_s: f64,
    /// The 90th percentile.
    pub p90_s: f64,
    /// The 99th percentile.
    pub p99_s: f64,
    /// The 99.9th percentile.
    pub p999_s: f64,
    /// The maximum.
    pub max_s: f64,
}

/// The number of messages at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Depth {
    /// The average over time.
    pub mean: f64,
    /// The maximum.
    pub max: u64,
}

/// One step on the way of a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Station {
    /// The stage's name, or `source`, `hub before NAME`, `sink`.
    pub name: String,
    /// The number of instances.
    pub instances: u32,
    /// The part of the time for which an instance is at work, on average.
    pub busy: f64,
    /// The part of the time for which an instance waits for room in the next station, on average.
    pub blocked: f64,
    /// Messages that wait for the station, including the messages on their way to it.
    pub waiting: Depth,
}

/// The part that limits the rate of a pipeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "what", content = "name")]
pub enum Bottleneck {
    /// The machine's cores.
    Cores,
    /// The resource that the instances of this stage share.
    Serial(String),
    /// The instances of this stage.
    Stage(String),
    /// A hub, the source or the sink.
    Hub(String),
    /// A port of the fabric.
    Network,
    /// The window.
    Window,
    /// None of these: the pipeline keeps up with its arrivals.
    Input,
}

/// Simulates `load` on `pipeline`.
///
/// ```
/// use hairstreak_model::{Distribution, Load, Pipeline, Stage, Times, simulate};
/// use std::time::Duration;
///
/// let stage = |name: &str| Stage {
///     name: name.into(),
///     instances: 2,
///     times: Times { process: Duration::from_millis(500), ..Times::default() },
///     distribution: Distribution::Constant,
/// };
/// let pipeline = Pipeline::new(vec![stage("component1"), stage("component2")])?;
/// let simulation = simulate(&pipeline, &Load::of(100));
/// assert_eq!(simulation.makespan_s, 25.5);
/// # Ok::<(), hairstreak_model::PipelineError>(())
/// ```
pub fn simulate(pipeline: &Pipeline, load: &Load) -> Simulation {
    let exact = load.exact_messages(pipeline);
    let mut engine = Engine::new(pipeline, *load, exact);
    let end = engine.run();
    let interval_ns = interval_ns(&engine.tally.ended);
    let makespan_s = (end as f64 + (load.messages - exact) as f64 * interval_ns) / 1e9;
    let stations = stations(pipeline, &engine, end);
    Simulation {
        messages: load.messages,
        exact_messages: exact,
        makespan_s,
        predicted_per_s: (makespan_s > 0.0).then(|| load.messages as f64 / makespan_s),
        steady_per_s: (interval_ns > 0.0).then(|| 1e9 / interval_ns),
        latency: latency(std::mem::take(&mut engine.tally.latencies)),
        in_flight: depth(&engine.tally.in_flight, end),
        cores_busy: share(engine.tally.work_ns, end),
        bottleneck: bottleneck(pipeline, load, &engine, &stations, end),
        stations,
    }
}

/// The mean time between two results of the middle half.
fn interval_ns(ended: &[u64]) -> f64 {
    let (first, last) = (ended.len() / 4, ended.len() * 3 / 4);
    match (ended.get(first), ended.get(last)) {
        (Some(from), Some(to)) if last > first => (to - from) as f64 / (last - first) as f64,
        // One or two messages: the whole run.
        _ => ended.last().map_or(0.0, |end| *end as f64 / ended.len() as f64),
    }
}

fn share(part: f64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part / whole as f64 }
}

fn depth(level: &Level, end: u64) -> Depth {
    Depth { mean: level.mean(end), max: level.max() }
}

fn latency(mut latencies: Vec<u64>) -> Latency {
    latencies.sort_unstable();
    let count = latencies.len();
    let Some(max) = latencies.last().copied() else { return Latency::default() };
    let seconds = |ns: u64| ns as f64 / 1e9;
    let sum: f64 = latencies.iter().map(|ns| *ns as f64).sum();
    let at = |part: f64| seconds(latencies[((part * count as f64).ceil() as usize).clamp(1, count) - 1]);
    Latency {
        mean_s: sum / count as f64 / 1e9,
        p50_s: at(0.5),
        p90_s: at(0.9),
        p99_s: at(0.99),
        p999_s: at(0.999),
        max_s: seconds(max),
    }
}

fn stations(pipeline: &Pipeline, engine: &Engine<'_>, end: u64) -> Vec<Station> {
    let layout = engine.layout();
    let mut next_stage = 0;
    let mut stations = Vec::with_capacity(layout.steps.len());
    for (index, step) in layout.steps.iter().enumerate() {
        let name = match step.role {
            Role::Source => "source".to_owned(),
            Role::Stage(stage) => {
                next_stage = stage + 1;
                pipeline.stages()[stage].name.clone()
            }
            Role::Hub => format!("hub before {}", pipeline.stages()[next_stage].name),
            Role::Sink => "sink".to_owned(),
        };
        let servers = &layout.servers[step.first..step.first + step.count];
        let mean = |sum: u64| share(sum as f64 / step.count as f64, end);
        stations.push(Station {
            name,
            instances: step.count as u32,
            busy: mean(servers.iter().map(|server| server.busy_ns).sum()),
            blocked: mean(servers.iter().map(|server| server.blocked_ns).sum()),
            waiting: depth(&engine.tally.waiting[index], end),
        });
    }
    stations
}

/// The likeliest cause among the parts that are nearly as busy as the busiest. `causes` is ordered by likelihood: when the cores
/// have no time left, all other parts look busy, and a full window has a busy stage behind it.
fn bottleneck(
    pipeline: &Pipeline,
    load: &Load,
    engine: &Engine<'_>,
    stations: &[Station],
    end: u64,
) -> Bottleneck {
    let (layout, tally) = (engine.layout(), &engine.tally);
    let mut causes = Vec::new();
    if let Some(cores) = pipeline.cores() {
        causes.push((share(tally.work_ns, end) / f64::from(cores), Bottleneck::Cores));
    }
    for (index, step) in layout.steps.iter().enumerate() {
        if let Role::Stage(stage) = step.role {
            let name = pipeline.stages()[stage].name.clone();
            causes.push((share(tally.held_ns[index] as f64, end), Bottleneck::Serial(name)));
        }
    }
    for (station, step) in stations.iter().zip(&layout.steps) {
        let name = station.name.clone();
        let cause = match step.role {
            Role::Stage(_) => Bottleneck::Stage(name),
            Role::Source | Role::Hub | Role::Sink => Bottleneck::Hub(name),
        };
        causes.push((station.busy, cause));
    }
    if let Network::Fabric(_) = pipeline.network() {
        causes.push((share(engine.busiest_port_ns() as f64, end), Bottleneck::Network));
    }
    causes.push((share(tally.window_ns as f64, end), Bottleneck::Window));
    let most = causes.iter().map(|(busy, _)| *busy).fold(0.0, f64::max);
    if matches!(load.arrivals, Arrivals::Poisson { .. }) && most < BUSY_MIN {
        return Bottleneck::Input;
    }
    let named = causes.into_iter().find(|(busy, _)| *busy >= most - TOLERANCE);
    named.map_or(Bottleneck::Input, |(_, cause)| cause)
}
