//! `Outlook`: the progress of a run, beside the prediction of its plan.

use hairstreak_model::{Load, plan, simulate};

use super::options::{Progress, StageProgress};
use super::tally::Tally;
use crate::topology::Topology;

/// The prediction of the plan, kept for the whole run.
pub(super) struct Outlook {
    predicted_per_s: Option<f64>,
}

/// Returns the load of this number of messages of the topology's input.
pub(super) fn load(topology: &Topology, messages: u64) -> Load {
    let load = Load::of(messages);
    Load { size: topology.message_size().unwrap_or(load.size), ..load }
}

impl Outlook {
    /// Predicts the rate for this number of messages, or for an endless stream of them.
    pub(super) fn of(topology: &Topology, messages: Option<u64>) -> Outlook {
        let pipeline = topology.pipeline().ok();
        let predicted_per_s = pipeline.and_then(|pipeline| match messages {
            Some(messages) => simulate(&pipeline, &load(topology, messages)).predicted_per_s,
            None => plan(&pipeline, None).steady_per_s,
        });
        Outlook { predicted_per_s }
    }

    pub(super) fn progress(&self, topology: &Topology, tally: &Tally) -> Progress {
        let elapsed = tally.since_start();
        let messages = tally.messages();
        let stage = |(index, name): (usize, &String)| StageProgress {
            name: name.clone(),
            given: tally.stage(index).given(),
            processed: tally.stage(index).processed(),
            rate_per_s: tally.stage(index).rate_per_s(),
        };
        let stages: Vec<StageProgress> =
            topology.stages.iter().map(|stage| &stage.name).enumerate().map(stage).collect();
        let waits = |(stage, planned): (&StageProgress, &crate::topology::Stage)| {
            stage.given.saturating_sub(stage.processed) > u64::from(planned.instances)
        };
        let slowest = stages.iter().zip(&topology.stages).rposition(waits).unwrap_or(0);
        Progress {
            elapsed,
            messages,
            messages_total: tally.total(),
            rate_per_s: if elapsed.is_zero() { 0.0 } else { messages as f64 / elapsed.as_secs_f64() },
            predicted_per_s: self.predicted_per_s,
            stages,
            slowest,
        }
    }
}
