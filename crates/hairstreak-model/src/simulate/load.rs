//! `Load`: the messages of a simulated run.

use crate::network::Network;
use crate::pipeline::{Pipeline, Wiring};

/// Default for the number of messages that are simulated one by one. Further messages follow at the rate of these.
pub const EXACT_MESSAGES_MAX: u64 = 100_000;
/// The largest product of messages and steps. With this bound a long pipeline takes no longer to simulate than a short one.
const STEPS_MAX: u64 = 1_000_000;
/// The largest number of simulated packets of a fabric: some seconds if all ports are in each other's way.
const PACKETS_MAX: u64 = 5_000_000;
/// Messages that each instance has at least, unless these are too many packets.
const ROUNDS_MIN: u64 = 4;
/// The number of messages that are simulated for any message size.
const MESSAGES_MIN: u64 = 100;

/// The arrival times of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Arrivals {
    /// As soon as there is room. The rate of the run is then the highest that the pipeline can reach.
    #[default]
    Saturated,
    /// At random times (a Poisson process).
    Poisson {
        /// The average number of messages a second.
        per_s: f64,
    },
}

/// The messages of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// The number of messages.
    pub messages: u64,
    /// Bytes of each message.
    pub size: u64,
    /// The arrival times.
    pub arrivals: Arrivals,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The largest number of messages that are simulated one by one.
    pub exact_messages_max: u64,
}

impl Load {
    /// A number of messages of 100 bytes that arrive as soon as there is room.
    pub fn of(messages: u64) -> Load {
        let exact_messages_max = EXACT_MESSAGES_MAX;
        Load { messages, size: 100, arrivals: Arrivals::Saturated, seed: 1, exact_messages_max }
    }

    /// The number of messages that are simulated one by one.
    pub(super) fn exact_messages(&self, pipeline: &Pipeline) -> u64 {
        let stages = pipeline.stages().len() as u64;
        let instances: u64 = pipeline.stages().iter().map(|stage| u64::from(stage.instances)).sum();
        let steps = if has_hubs(pipeline) { 2 * stages } else { stages } + 1;
        let affordable = (STEPS_MAX / steps).max(ROUNDS_MIN * instances);
        let affordable = affordable.min((PACKETS_MAX / self.packets(pipeline)).max(MESSAGES_MIN));
        self.messages.min(self.exact_messages_max).min(affordable)
    }

    /// The number of packets of one message on its way through the pipeline, on all links together.
    fn packets(&self, pipeline: &Pipeline) -> u64 {
        match pipeline.network() {
            Network::Fabric(fabric) => (pipeline.stages().len() as u64 + 1) * fabric.packets_of(self.size),
            Network::Ideal | Network::Links(_) => 1,
        }
    }

    /// The number of simulations of this load that together take about as long as the longest allowed simulation. At least two.
    pub(crate) fn affordable_count(&self, pipeline: &Pipeline) -> usize {
        let packets = (self.exact_messages(pipeline) * self.packets(pipeline)).max(1);
        (2 * PACKETS_MAX / packets).max(2) as usize
    }
}

/// Returns `true` if hubs are steps of their own. A hub that costs nothing only decides which instance is next in turn.
pub(super) fn has_hubs(pipeline: &Pipeline) -> bool {
    pipeline.wiring() == Wiring::Hub && matches!(pipeline.network(), Network::Links(_))
}
