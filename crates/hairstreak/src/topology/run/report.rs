//! What a run measured.

use hairstreak_model::{plan, simulate};
use serde::Serialize;

use super::outlook::load;
use super::tally::Tally;
use crate::topology::definition::Topology;

/// What a run measured, beside what the plan says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunReport {
    /// Results that arrived.
    pub messages: u64,
    /// From the first message sent to the last result, in seconds.
    pub elapsed_s: f64,
    /// `messages / elapsed_s`.
    pub throughput_per_s: f64,
    /// What the plan says for so many messages, the fill of the pipeline and its last round
    /// included; none where the time of some stage is not known.
    pub predicted_per_s: Option<f64>,
    /// What the plan says for a pipeline that is always full.
    pub steady_per_s: Option<f64>,
    /// The stage with the lowest rate.
    pub slowest: Option<String>,
    /// Stage by stage, in order.
    pub stages: Vec<StageReport>,
}

/// What a run measured of one stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageReport {
    /// Its name.
    pub name: String,
    /// How many of it there were.
    pub instances: u32,
    /// Results it gave.
    pub processed: u64,
    /// Results a second between its first message and its last result.
    pub rate_per_s: f64,
    /// What the plan says all its instances can do.
    pub planned_per_s: Option<f64>,
    /// How often instances of it were killed and started again.
    pub restarts: u64,
    /// Messages given to each instance, in order of their numbers; in a complete run each of them
    /// was processed.
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
