//! The transports and targets of H3: across which transport messages go, and where a message counts as arrived.

use std::fmt;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::data::Time;

/// A transport under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Broker {
    /// Our node, in the agent's process.
    Hairstreak,
    /// RabbitMQ as Debian's package has it.
    Rabbitmq,
}

/// Where a message counts as arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The receiving host's memory: the transport alone.
    Across,
    /// A queue of our node, to which the sender publishes over the transport.
    Hairstreak,
    /// A queue of RabbitMQ, to which the sender publishes over tcp.
    Rabbitmq,
    /// A queue of RabbitMQ, to which the receiving host publishes over loopback tcp what came across the transport: the
    /// paper's own path.
    RabbitmqLoopback,
}

/// A node of the receiving cluster, and the sender that belongs to this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Node {
    /// The node of the `.A` queues.
    A,
    /// The node of the `.B` queues.
    B,
}

/// Both nodes.
pub const NODES: [Node; 2] = [Node::A, Node::B];

impl Transport {
    /// The name in reports, which is the scheme of its endpoints, too.
    pub fn text(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Shm => "shm",
            Transport::Vortex => "vortex",
        }
    }

    /// The time of its rates. On the way to `target` by loopback there is no other than the host's.
    pub fn time(self, target: Target) -> Time {
        match (self, target) {
            (Transport::Vortex, Target::Across | Target::Hairstreak) => Time::Fabric,
            _ => Time::Wall,
        }
    }

    /// The topic exchange of this transport.
    pub fn exchange(self) -> String {
        format!("h3.{}", self.text())
    }

    /// The queue of this transport on `node`.
    pub fn queue(self, node: Node) -> String {
        format!("h3.{}.{node}", self.text())
    }
}

impl Target {
    /// The broker whose queues these are.
    pub fn broker(self) -> Option<Broker> {
        match self {
            Target::Across => None,
            Target::Hairstreak => Some(Broker::Hairstreak),
            Target::Rabbitmq | Target::RabbitmqLoopback => Some(Broker::Rabbitmq),
        }
    }

    /// The name in files.
    pub fn text(self) -> &'static str {
        match self {
            Target::Across => "across",
            Target::Hairstreak => "hairstreak",
            Target::Rabbitmq => "rabbitmq",
            Target::RabbitmqLoopback => "rabbitmq-loopback",
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Target::Across => "across the transport",
            Target::Hairstreak => "into Hairstreak's queue",
            Target::Rabbitmq => "into RabbitMQ's queue",
            Target::RabbitmqLoopback => "across, then loopback into RabbitMQ's queue",
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Node::A => "A",
            Node::B => "B",
        })
    }
}

/// The pattern that binds the queue of `node`.
pub fn binding(node: Node) -> String {
    format!("*.{node}")
}

/// The routing key of messages of `size` bytes for `node`.
pub fn routing_key(size: usize, node: Node) -> String {
    format!("{size}.{node}")
}
