//! `Load`: the messages that a simulated pipeline is given.

use crate::network::Network;
use crate::pipeline::{Pipeline, Wiring};

/// Messages that are simulated one by one. Any more follow at the rate of these.
pub const EXACT_MESSAGES_MAX: u64 = 100_000;
/// Messages and steps that are simulated one by one, so that a long pipeline takes no longer than a short one.
const STEPS_MAX: u64 = 1_000_000;
/// Packets of a fabric that are simulated one by one: some seconds where all ports are in each other's way.
const PACKETS_MAX: u64 = 5_000_000;
/// Each instance has so many messages at least, unless that would be too many packets.
const ROUNDS_MIN: u64 = 4;
/// However long a message is, so many are simulated.
const MESSAGES_MIN: u64 = 100;

/// When messages come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Arrivals {
    /// As soon as there is room: what the pipeline can do at most.
    #[default]
    Saturated,
    /// By chance, so many a second on average (a Poisson process).
    Poisson {
        /// Messages a second.
        per_s: f64,
    },
}

/// The messages of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// How many.
    pub messages: u64,
    /// Bytes of each.
    pub size: u64,
    /// When they come.
    pub arrivals: Arrivals,
    /// Where all random numbers begin.
    pub seed: u64,
    /// How many are simulated one by one, at most.
    pub exact_messages_max: u64,
}

impl Load {
    /// So many messages of 100 bytes that come as soon as there is room.
    pub fn of(messages: u64) -> Load {
        let exact_messages_max = EXACT_MESSAGES_MAX;
        Load { messages, size: 100, arrivals: Arrivals::Saturated, seed: 1, exact_messages_max }
    }

    /// How many of them are simulated one by one.
    pub(super) fn exact_messages(&self, pipeline: &Pipeline) -> u64 {
        let stages = pipeline.stages().len() as u64;
        let instances: u64 = pipeline.stages().iter().map(|stage| u64::from(stage.instances)).sum();
        let steps = if has_hubs(pipeline) { 2 * stages } else { stages } + 1;
        let affordable = (STEPS_MAX / steps).max(ROUNDS_MIN * instances);
        let affordable = affordable.min((PACKETS_MAX / self.packets(pipeline)).max(MESSAGES_MIN));
        self.messages.min(self.exact_messages_max).min(affordable)
    }

    /// Packets that one message is on its way through the pipeline, on all links together.
    fn packets(&self, pipeline: &Pipeline) -> u64 {
        match pipeline.network() {
            Network::Fabric(fabric) => (pipeline.stages().len() as u64 + 1) * fabric.packets_of(self.size),
            Network::Ideal | Network::Links(_) => 1,
        }
    }

    /// How many simulations of this load together take not much longer than one of the longest: at least two.
    pub(crate) fn affordable_count(&self, pipeline: &Pipeline) -> usize {
        let packets = (self.exact_messages(pipeline) * self.packets(pipeline)).max(1);
        (2 * PACKETS_MAX / packets).max(2) as usize
    }
}

/// Whether hubs are steps of their own: where nothing costs anything, they only decide who has the next turn.
pub(super) fn has_hubs(pipeline: &Pipeline) -> bool {
    pipeline.wiring() == Wiring::Hub && matches!(pipeline.network(), Network::Links(_))
}
