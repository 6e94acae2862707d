//! `Calibration`: the figures of a machine, and the errors of measuring them.

use std::time::Duration;

use hairstreak_model::{Links, Network, Pipeline, PipelineError};
use hairstreak_socket::{BindError, ConnectError, OpenError, RecvError, SendError};
use thiserror::Error;

/// An error of measuring a machine.
#[derive(Debug, Error)]
pub enum CalibrationError {
    /// A socket could not be opened.
    #[error("cannot open a socket: {0}")]
    Open(#[from] OpenError),
    /// An endpoint could not be bound.
    #[error("cannot listen: {0}")]
    Bind(#[from] BindError),
    /// An endpoint could not be connected to.
    #[error("cannot connect: {0}")]
    Connect(#[from] ConnectError),
    /// A message was not sent.
    #[error("cannot send: {0}")]
    Send(#[from] SendError),
    /// A message did not arrive.
    #[error("a message did not come: {0}")]
    Receive(#[from] RecvError),
    /// A measuring thread could not be started, or panicked.
    #[error("a measuring thread failed: {0}")]
    Thread(String),
    /// The figures are impossible, for example because a clock does not advance.
    #[error("the machine gave figures that cannot be: {0}")]
    Figures(#[from] hairstreak_model::LinksError),
}

/// The measured figures of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Number of cores.
    pub cores: u32,
    /// Delay of a sleeper's wake-up.
    pub wake_up: Duration,
    /// The costs of messages over tcp.
    pub links: Links,
}

impl Calibration {
    /// Returns the pipeline on this machine. Cores or a fabric that the pipeline states itself remain.
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

/// Returns the middle value, or the mean of the two middle values; 0 without values.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    match (values.get(low), values.get(high)) {
        (Some(low), Some(high)) => (low + high) / 2.0,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(vec![7.0]), 7.0);
        assert_eq!(median(Vec::new()), 0.0);
    }
}
