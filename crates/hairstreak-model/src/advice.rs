//! `advise`: which small change gains most. Each candidate is simulated, with the same messages and the same random numbers.

use serde::Serialize;

use crate::pipeline::{CORES_MAX, INSTANCES_MAX, Pipeline, Routing, Stage, WINDOW_MAX, Window};
use crate::simulate::{Arrivals, Load, Simulation, simulate};

/// Messages of the simulation of a candidate.
const CANDIDATE_MESSAGES_MAX: u64 = 20_000;
/// Stages that are given one more instance: the busiest ones.
const STAGES_TRIED_MAX: usize = 4;
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

/// The changes that gain something, the best one first.
pub fn advise(pipeline: &Pipeline, load: &Load) -> Vec<Advice> {
    let load = Load {
        messages: load.messages.min(CANDIDATE_MESSAGES_MAX),
        exact_messages_max: load.exact_messages_max.min(CANDIDATE_MESSAGES_MAX),
        ..*load
    };
    let now = simulate(pipeline, &load);
    let mut advice: Vec<Advice> = candidates(pipeline, &now)
        .into_iter()
        .map(|(change, changed)| {
            let then = simulate(&changed, &load);
            let gain = gain(&load, &now, &then);
            Advice { change, per_s: then.predicted_per_s, p99_s: then.latency.p99_s, gain }
        })
        .filter(|advice| advice.gain >= GAIN_MIN)
        .collect();
    advice.sort_by(|one, other| other.gain.total_cmp(&one.gain));
    advice
}

fn gain(load: &Load, now: &Simulation, then: &Simulation) -> f64 {
    let per_s = |simulation: &Simulation| simulation.predicted_per_s.unwrap_or(0.0);
    match load.arrivals {
        Arrivals::Poisson { per_s: wanted } if per_s(now) >= KEPT * wanted => {
            1.0 - then.latency.p99_s / now.latency.p99_s
        }
        _ => per_s(then) / per_s(now) - 1.0,
    }
}

fn candidates(pipeline: &Pipeline, now: &Simulation) -> Vec<(Change, Pipeline)> {
    let mut candidates = Vec::new();
    // A change that no pipeline may have is none.
    let mut add = |change: Change, changed: Option<Pipeline>| {
        candidates.extend(changed.map(|changed| (change, changed)));
    };
    let busy = |name: &str| {
        now.stations.iter().find(|station| station.name == name).map_or(0.0, |station| station.busy)
    };
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
