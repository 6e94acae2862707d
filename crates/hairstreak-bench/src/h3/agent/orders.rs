//! The lines of JSON between a controller and an agent: an [`Order`] one way, a [`Reply`] the other way.

use serde::{Deserialize, Serialize};

use crate::h3::contender::{Broker, Node, Target, Transport};
use crate::h3::data::{Counts, Tally, Time};

/// An order to an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Say who you are.
    Greet {
        /// The controller's version.
        version: String,
        /// Where to listen on the fabric, if there is one.
        vortex: Option<String>,
    },
    /// Listen, and receive what one sender sends: `Bound`, then `Received`.
    Receive {
        /// Across this transport.
        transport: Transport,
        /// Memory for so many bytes is to be ready.
        room: u64,
        /// Length of a window.
        window_ns: u64,
    },
    /// Listen, and publish to the open queue what one sender sends: `Bound`, then `Received` with the confirms.
    Relay {
        /// Across this transport.
        transport: Transport,
        /// Bytes of a message.
        size: usize,
        /// Length of a window.
        window_ns: u64,
    },
    /// Open the queue of a transport: `Opened`. Starts the broker if there is none.
    Open {
        /// Of this broker.
        broker: Broker,
        /// The queue of this transport.
        transport: Transport,
        /// And of this node.
        node: Node,
        /// The broker may have so many bytes of messages.
        memory_bytes: u64,
    },
    /// Send messages across a transport: `Sent`.
    Send {
        /// To this endpoint.
        endpoint: String,
        /// So many.
        flow: Flow,
    },
    /// Publish messages: `Sent` with the confirms.
    Publish {
        /// To the broker at this endpoint.
        endpoint: String,
        /// To this exchange.
        exchange: String,
        /// With this key.
        key: String,
        /// So many.
        flow: Flow,
        /// Length of a window.
        window_ns: u64,
    },
    /// Digest what was received, or what was sent: `Tally`.
    Tally {
        /// The key of the digest.
        key: u64,
    },
    /// Consume `count` messages, digest them, delete the queue: `Drained`.
    Drain {
        /// The key of the digest.
        key: u64,
        /// How many messages have to be in the queue.
        count: u64,
    },
}

/// The messages of one sender.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Flow {
    /// Bytes of a message.
    pub size: usize,
    /// Two runs with different seeds have different messages.
    pub seed: u64,
    /// At least so many messages.
    pub count_min: u64,
    /// At most so many.
    pub count_max: u64,
    /// At least so long.
    pub duration_ns: u64,
    /// In this time.
    pub time: Time,
}

/// An agent's answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The agent names itself.
    Greeting {
        /// Its version.
        version: String,
        /// Its processor, cores and kernel.
        machine: String,
        /// Bytes of memory that it can give.
        memory_bytes: u64,
        /// Whether RabbitMQ is installed there.
        has_rabbitmq: bool,
    },
    /// It listens.
    Bound {
        /// Here.
        endpoint: String,
    },
    /// The queue is there and empty.
    Opened {
        /// The broker listens here for this transport.
        endpoint: Option<String>,
    },
    /// Everything has come.
    Received(Arrivals),
    /// Everything has gone, and was confirmed if it was published.
    Sent(Arrivals),
    /// The digest.
    Tally(Tally),
    /// The queue is gone.
    Drained {
        /// The content of the queue.
        tally: Tally,
        /// The broker has written messages to disk.
        has_spilled: bool,
    },
    /// It could not be done.
    Failed(String),
}

/// Messages of one node in a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Arrivals {
    /// How many.
    pub count: u64,
    /// When, where this agent saw them arrive.
    pub counts: Counts,
    /// The broker stopped publishers.
    pub has_alarm: bool,
}

impl Order {
    /// The target of a run whose receiving side this order begins, for errors.
    pub fn subject(&self) -> &'static str {
        match self {
            Order::Greet { .. } => "greeting",
            Order::Receive { .. } => Target::Across.words(),
            Order::Relay { .. } => Target::RabbitmqLoopback.words(),
            Order::Open { .. } => "opening a queue",
            Order::Send { .. } => "sending",
            Order::Publish { .. } => "publishing",
            Order::Tally { .. } => "digesting",
            Order::Drain { .. } => "draining a queue",
        }
    }
}
