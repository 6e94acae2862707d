//! `advise`: the small changes that gain most. Each candidate is simulated with the same messages and the same random numbers.

use serde::Serialize;

use crate::distribution::Distribution;
use crate::pipeline::{CORES_MAX, INSTANCES_MAX, Pipeline, Routing, Stage, WINDOW_MAX, Window};
use crate::simulate::{Arrivals, Load, Simulation, simulate};

/// The largest number of messages in the simulation of a candidate.
const CANDIDATE_MESSAGES_MAX: u64 = 20_000;
/// The number of busiest stages that are tried with one more instance.
const STAGES_TRIED_MAX: usize = 4;
/// With at most this number of affordable simulations, a candidate gets one seed.
const MANY: usize = 20;
/// Simulations of a candidate with random times, each with its own seed.
const SEED_COUNT: u64 = 3;
/// The largest difference between equally busy stages, as a part of the time.
const TIE: f64 = 0.05;
/// Changes with a smaller gain are left out.
const GAIN_MIN: f64 = 0.01;
/// A pipeline keeps up with its arrivals if its rate is at least this part of their rate.
const KEPT: f64 = 0.98;

/// One change to a pipeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum Change {
    /// One more instance of each of these stages.
    Copies {
        /// The stages.
        stages: Vec<Copies>,
    },
    /// A larger window.
    Window {
        /// The new window.
        count: u64,
    },
    /// More frequent acknowledgements.
    Acknowledge {
        /// The new number of results in one acknowledgement.
        acknowledge: u64,
    },
    /// A message goes to the instance with the fewest messages.
    LeastLoaded,
    /// One more core.
    Core {
        /// The new number of cores.
        cores: u32,
    },
}

/// The new number of instances of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Copies {
    /// The stage.
    pub stage: String,
    /// Instances.
    pub instances: u32,
}

/// A change and its gain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The change.
    pub change: Change,
    /// Messages a second with the change.
    pub per_s: Option<f64>,
    /// The 99th percentile of the latency with the change, in seconds.
    pub p99_s: f64,
    /// 0.33 is a third more messages a second. With random arrivals that the pipeline keeps up with, 0.33 is a third less of `p99_s`.
    pub gain: f64,
}

/// The changes with a gain, the best first. On a fabric with long messages only the first few candidates are simulated.
pub fn advise(pipeline: &Pipeline, load: &Load) -> Vec<Advice> {
    let all = load;
    let load = Load {
        messages: load.messages.min(CANDIDATE_MESSAGES_MAX),
        exact_messages_max: load.exact_messages_max.min(CANDIDATE_MESSAGES_MAX),
        ..*load
    };
    let is_whole = load.messages == all.messages;
    let affordable = load.affordable_count(pipeline);
    // Two random runs differ by some percent. The means of several runs differ by less.
    let seeds = if is_random(pipeline, &load) && affordable > MANY { SEED_COUNT } else { 1 };
    let of = |pipeline: &Pipeline| {
        let with = |offset| simulate(pipeline, &Load { seed: load.seed.wrapping_add(offset), ..load });
        Outcome::of(&(0..seeds).map(with).collect::<Vec<_>>(), is_whole)
    };
    let now = of(pipeline);
    let mut advice: Vec<Advice> = candidates(pipeline, &now.busy)
        .into_iter()
        .take(affordable)
        .map(|(change, changed)| {
            let then = of(&changed);
            let gain = gain(&load, &now, &then);
            Advice { change, per_s: then.per_s, p99_s: then.p99_s, gain }
        })
        .filter(|advice| advice.gain >= GAIN_MIN)
        .collect();
    advice.sort_by(|one, other| other.gain.total_cmp(&one.gain));
    advice
}

/// The mean of several simulations with different seeds.
struct Outcome {
    per_s: Option<f64>,
    p99_s: f64,
    /// The part of the time for which each station is busy.
    busy: Vec<(String, f64)>,
}

impl Outcome {
    /// The mean outcome. The rate of a whole run includes the fill and the end; the rate of a partial run is that of its middle.
    fn of(simulations: &[Simulation], is_whole: bool) -> Outcome {
        let mean = |figure: &dyn Fn(&Simulation) -> f64| {
            simulations.iter().map(figure).sum::<f64>() / simulations.len() as f64
        };
        let rate = |simulation: &Simulation| match is_whole {
            true => simulation.predicted_per_s,
            false => simulation.steady_per_s,
        };
        let per_s = mean(&|simulation| rate(simulation).unwrap_or(f64::INFINITY));
        let names = simulations.first().map(|simulation| &simulation.stations).into_iter().flatten();
        let busy = |index: usize| mean(&|simulation| simulation.stations[index].busy);
        Outcome {
            per_s: per_s.is_finite().then_some(per_s),
            p99_s: mean(&|simulation| simulation.latency.p99_s),
            busy: names.enumerate().map(|(index, station)| (station.name.clone(), busy(index))).collect(),
        }
    }
}

fn is_random(pipeline: &Pipeline, load: &Load) -> bool {
    load.arrivals != Arrivals::Saturated
        || pipeline.routing() == Routing::Random
        || pipeline.stages().iter().any(|stage| stage.distribution != Distribution::Constant)
}

fn gain(load: &Load, now: &Outcome, then: &Outcome) -> f64 {
    // A pipeline that takes no time cannot gain.
    let (Some(before), Some(after)) = (now.per_s, then.per_s) else { return 0.0 };
    match load.arrivals {
        Arrivals::Poisson { per_s: wanted } if before >= KEPT * wanted => 1.0 - then.p99_s / now.p99_s,
        _ => after / before - 1.0,
    }
}

fn candidates(pipeline: &Pipeline, busy: &[(String, f64)]) -> Vec<(Change, Pipeline)> {
    let mut candidates = Vec::new();
    // Changes that break a limit of a pipeline are left out.
    let mut add = |change: Change, changed: Option<Pipeline>| {
        candidates.extend(changed.map(|changed| (change, changed)));
    };
    let busy = |name: &str| busy.iter().find(|(station, _)| station == name).map_or(0.0, |(_, busy)| *busy);
    let mut stages: Vec<_> = pipeline.stages().iter().enumerate().collect();
    stages.sort_by(|(_, one), (_, other)| busy(&other.name).total_cmp(&busy(&one.name)));
    let one_more = |of: &[(usize, &Stage)]| {
        let mut copies = Vec::with_capacity(of.len());
        let mut changed = Some(pipeline.clone());
        for (index, stage) in of {
            let instances = (stage.instances + 1).min(INSTANCES_MAX);
            copies.push(Copies { stage: stage.name.clone(), instances });
            changed = changed.and_then(|changed| changed.with_instances(*index, instances).ok());
        }
        (Change::Copies { stages: copies }, changed)
    };
    for stage in stages.iter().take(STAGES_TRIED_MAX) {
        let (change, changed) = one_more(std::slice::from_ref(stage));
        add(change, changed);
    }
    // One more instance of only one of several equally busy stages gains nothing.
    let most = stages.first().map_or(0.0, |(_, stage)| busy(&stage.name));
    let tied: Vec<_> = stages.into_iter().filter(|(_, stage)| busy(&stage.name) >= most - TIE).collect();
    if tied.len() > 1 {
        let (change, changed) = one_more(&tied);
        add(change, changed);
    }
    if let Some(Window { count, acknowledge }) = pipeline.window() {
        let larger = (2 * count).min(WINDOW_MAX);
        let window = Window { count: larger, acknowledge };
        add(Change::Window { count: larger }, pipeline.clone().with_window(window).ok());
        let oftener = acknowledge.div_ceil(2);
        let window = Window { count, acknowledge: oftener };
        add(Change::Acknowledge { acknowledge: oftener }, pipeline.clone().with_window(window).ok());
    }
    if pipeline.routing() != Routing::LeastLoaded {
        add(Change::LeastLoaded, Some(pipeline.clone().with_routing(Routing::LeastLoaded)));
    }
    if let Some(cores) = pipeline.cores() {
        let cores = (cores + 1).min(CORES_MAX);
        add(Change::Core { cores }, pipeline.clone().with_cores(cores).ok());
    }
    candidates
}
