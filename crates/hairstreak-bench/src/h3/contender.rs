//! The contenders of H3: a transport, and the place where a message counts as arrived.

use std::fmt;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::data::Time;
use crate::frame::name;

/// Names of the receiving nodes. Sender A sends to node A, sender B to node B.
pub const NODES: [char; 2] = ['A', 'B'];

/// A transport under test. Its name is the scheme of its endpoints, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// TCP: the paper's baseline, there over InfiniBand.
    Tcp,
    /// Rings in memory that two processes share.
    Shm,
    /// A simulated Data Vortex.
    Vortex,
}

/// A broker whose queues are a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Broker {
    /// Our node, in the agent's process.
    Hairstreak,
    /// RabbitMQ as Debian's package has it.
    Rabbitmq,
}

/// The place where a message counts as arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The receiving host's memory: the transport alone.
    Across,
    /// A queue of our node, to which the sender publishes over the transport.
    Hairstreak,
    /// A queue of RabbitMQ, to which the sender publishes over tcp.
    Rabbitmq,
    /// A queue of RabbitMQ, to which the receiving host publishes over loopback tcp, behind the transport: the paper's own
    /// path.
    RabbitmqLoopback,
}

/// A transport, and a target behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Contender {
    /// The transport.
    pub transport: Transport,
    /// The target.
    pub target: Target,
}

impl Target {
    /// The broker whose queues these are, the target in words, and the end of a contender's short name.
    fn facts(self) -> (Option<Broker>, &'static str, &'static str) {
        let loopback = "across, then loopback into RabbitMQ's queue";
        match self {
            Target::Across => (None, "across the transport", ""),
            Target::Hairstreak => (Some(Broker::Hairstreak), "into Hairstreak's queue", " > hairstreak"),
            Target::Rabbitmq => (Some(Broker::Rabbitmq), "into RabbitMQ's queue", " > rabbitmq"),
            Target::RabbitmqLoopback => (Some(Broker::Rabbitmq), loopback, " > tcp > rabbitmq"),
        }
    }

    /// Returns the broker whose queues these are.
    pub fn broker(self) -> Option<Broker> {
        self.facts().0
    }

    /// The target in words.
    pub fn words(self) -> &'static str {
        self.facts().1
    }
}

impl Contender {
    /// The time of its rates. On the way to a target by loopback there is no time but the host's.
    pub fn time(self) -> Time {
        match (self.transport, self.target) {
            (Transport::Vortex, Target::Across | Target::Hairstreak) => Time::Fabric,
            _ => Time::Wall,
        }
    }

    /// The short name in tables.
    pub fn name(self) -> String {
        let time = if self.time() == Time::Fabric { " (fabric time)" } else { "" };
        format!("{}{}{time}", name(&self.transport), self.target.facts().2)
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", name(&self.transport), self.target.words())
    }
}
