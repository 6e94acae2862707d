//! `advise`: which small change gains most. Each candidate is simulated, with the same messages and the same random numbers.

use serde::Serialize;

use crate::distribution::Distribution;
use crate::pipeline::{CORES_MAX, INSTANCES_MAX, Pipeline, Routing, Stage, WINDOW_MAX, Window};
use crate::simulate::{Arrivals, Load, Simulation, simulate};

/// Messages of the simulation of a candidate.
const CANDIDATE_MESSAGES_MAX: u64 = 20_000;
/// Stages that are given one more instance: the busiest ones.
const STAGES_TRIED_MAX: usize = 4;
/// Where no more simulations than these are affordable, there is no time for several seeds.
const MANY: usize = 20;
/// Simulations of a candidate whose times are random.
const SEED_COUNT: u64 = 3;
/// Stages are equally busy if they differ by this part of the time at most.
const TIE: f64 = 0.05;
/// A change that gains less is none.
const GAIN_MIN: f64 = 0.01;
/// A rate that is kept but for this part is kept.
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
        /// Messages on their way then.
        count: u64,
    },
    /// Acknowledgements that come more often.
    Acknowledge {
        /// Results that an acknowledgement counts then.
        acknowledge: u64,
    },
    /// Messages go to whoever has the fewest.
    LeastLoaded,
    /// One more core.
    Core {
        /// Cores then.
        cores: u32,
    },
}

/// Instances of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Copies {
    /// The stage.
    pub stage: String,
    /// Instances.
    pub instances: u32,
}

/// A change, and what it gains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The change.
    pub change: Change,
    /// Messages a second then.
    pub per_s: Option<f64>,
    /// The time that 99 of 100 messages take at most then, in seconds.
    pub p99_s: f64,
    /// 0.33 is a third more messages a second; where they come by chance and the pipeline keeps up, a third less of `p99_s`.
    pub gain: f64,
}

/// The changes that gain something, the best one first. On a fabric with long messages only the first few candidates are simulated.
pub fn advise(pipeline: &Pipeline, load: &Load) -> Vec<Advice> {
    let all = load;
    let load = Load {
        messages: load.messages.min(CANDIDATE_MESSAGES_MAX),
        exact_messages_max: load.exact_messages_max.min(CANDIDATE_MESSAGES_MAX),
        ..*load
    };
    let is_whole = load.messages == all.messages;
    let affordable = load.affordable_count(pipeline);
    // Chance alone makes a difference of some percent between two runs; less between the means of several.
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
    /// The part of the time in which each station is at work.
    busy: Vec<(String, f64)>,
}

impl Outcome {
    /// Of a whole run the rate counts with its filling and its end, of a part of a run that of the middle.
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
    // Where nothing takes any time, nothing gains.
    let (Some(before), Some(after)) = (now.per_s, then.per_s) else { return 0.0 };
    match load.arrivals {
        Arrivals::Poisson { per_s: wanted } if before >= KEPT * wanted => 1.0 - then.p99_s / now.p99_s,
        _ => after / before - 1.0,
    }
}

fn candidates(pipeline: &Pipeline, busy: &[(String, f64)]) -> Vec<(Change, Pipeline)> {
    let mut candidates = Vec::new();
    // A change that no pipeline may have is none.
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
    // Where several are equally busy, one more of one of them alone gains nothing.
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
