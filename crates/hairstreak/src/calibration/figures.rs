//! `Calibration`: the figures of a machine.

use std::time::Duration;

use hairstreak_model::{Links, Network, Pipeline, PipelineError};

/// The measured figures of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Its cores.
    pub cores: u32,
    /// How late a sleeper wakes up.
    pub wake_up: Duration,
    /// The costs of messages over tcp.
    pub links: Links,
}

impl Calibration {
    /// The pipeline on this machine. What the pipeline says itself (cores, a fabric) stays.
    ///
    /// # Errors
    ///
    /// The machine has more cores than a pipeline may have.
    pub fn apply(&self, pipeline: Pipeline) -> Result<Pipeline, PipelineError> {
        // The instances on a fabric are not all on this machine.
        if matches!(pipeline.network(), Network::Fabric(_)) {
            return Ok(pipeline);
        }
        let pipeline = match pipeline.cores() {
            Some(_) => pipeline,
            None => pipeline.with_cores(self.cores)?,
        };
        pipeline.with_network(Network::Links(self.links.clone()))?.with_wake_up(self.wake_up)
    }
}
