//! `RunReport`: the measurements of a run.

use hairstreak_model::{plan, simulate};
use serde::Serialize;

use super::outlook::load;
use super::tally::Tally;
use crate::topology::Topology;

/// The measurements of a run, beside the predictions of the plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunReport {
    /// Results that arrived.
    pub messages: u64,
    /// From the first message sent to the last result, in seconds.
    pub elapsed_s: f64,
    /// `messages / elapsed_s`.
    pub throughput_per_s: f64,
    /// Rate that the plan predicts for this number of messages, including the fill of the pipeline and its last round.
    /// `None` if the time of a stage is unknown.
    pub predicted_per_s: Option<f64>,
    /// Rate that the plan predicts for a pipeline that is always full.
    pub steady_per_s: Option<f64>,
    /// The stage with the lowest rate.
    pub slowest: Option<String>,
    /// The stages, in order.
    pub stages: Vec<StageReport>,
}

/// The measurements of one stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageReport {
    /// The name of the stage.
    pub name: String,
    /// Number of instances.
    pub instances: u32,
    /// Results that the stage gave.
    pub processed: u64,
    /// Results a second between its first message and its last result.
    pub rate_per_s: f64,
    /// Rate that the plan predicts for all its instances together.
    pub planned_per_s: Option<f64>,
    /// Number of times that its instances were killed and started again.
    pub restarts: u64,
    /// Messages given to each instance, in the order of their numbers. In a complete run each of them was processed.
    pub given: Vec<u64>,
}

impl RunReport {
    pub(super) fn of(topology: &Topology, tally: &Tally) -> RunReport {
        let messages = tally.messages();
        let elapsed_s = tally.elapsed().as_secs_f64();
        let pipeline = topology.pipeline().ok();
        let plan = pipeline.as_ref().map(|pipeline| plan(pipeline, None));
        let stages: Vec<StageReport> = (topology.stages.iter().enumerate())
            .map(|(index, stage)| StageReport {
                name: stage.name.clone(),
                instances: stage.instances,
                processed: tally.stage(index).processed(),
                rate_per_s: tally.stage(index).rate_per_s(),
                planned_per_s: plan.as_ref().and_then(|plan| plan.stages[index].rate_per_s),
                restarts: tally.stage(index).restarts(),
                given: tally.stage(index).given_to_each(),
            })
            .collect();
        let slowest = stages.iter().min_by(|one, other| one.rate_per_s.total_cmp(&other.rate_per_s));
        RunReport {
            messages,
            elapsed_s,
            throughput_per_s: if elapsed_s > 0.0 { messages as f64 / elapsed_s } else { 0.0 },
            predicted_per_s: pipeline
                .and_then(|pipeline| simulate(&pipeline, &load(topology, messages)).predicted_per_s),
            steady_per_s: plan.and_then(|plan| plan.steady_per_s),
            slowest: slowest.map(|stage| stage.name.clone()).filter(|_| messages > 0),
            stages,
        }
    }
}
