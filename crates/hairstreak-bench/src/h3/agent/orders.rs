//! The lines of JSON between a controller and an agent: an [`Order`] one way, a `Result` of its answer the other way.
//!
//! | order | answers |
//! |---|---|
//! | `Greet` | [`Greeting`] |
//! | `Open` | the endpoint of the broker for this transport, if there is one |
//! | `Receive`, `Relay` | the endpoint of the listener, then [`Arrivals`] |
//! | `Send`, `Publish` | [`Arrivals`] |
//! | `Tally`, `Drain` | the [`Tally`](crate::h3::data::Tally), and whether the broker has written messages to disk |

use serde::{Deserialize, Serialize};

use crate::h3::contender::{Broker, Transport};
use crate::h3::data::Counts;
use crate::h3::plan::Extent;

/// An order to an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Describe the host. `vortex` is the agent's place on the fabric, if there is one.
    Greet { version: String, vortex: Option<String> },
    /// Listen, and receive the messages of one sender in `room` bytes of memory.
    Receive { transport: Transport, room: u64, window_ns: u64 },
    /// Listen, and publish the messages of one sender to the open queue.
    Relay { transport: Transport, to: (String, String), size: usize, window_ns: u64 },
    /// Open the queue of a transport and a node. Start the broker if there is none, with room for `memory_bytes` of
    /// messages.
    Open { broker: Broker, transport: Transport, node: char, memory_bytes: u64 },
    /// Send messages to an endpoint.
    Send { endpoint: String, flow: Flow },
    /// Publish messages to an exchange with a routing key, by the broker at an endpoint.
    Publish { endpoint: String, to: (String, String), flow: Flow, window_ns: u64 },
    /// Digest the messages that were received or sent, with this key.
    Tally { key: u64 },
    /// Consume and digest the `count` messages of the open queue, and delete the queue.
    Drain { key: u64, count: u64 },
}

/// The messages of one sender.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Flow {
    /// Bytes of a message.
    pub size: usize,
    /// The seed: two runs with different seeds have different messages.
    pub seed: u64,
    /// Number and duration.
    pub extent: Extent,
}

/// The host of an agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Greeting {
    /// Processor, cores and kernel.
    pub machine: String,
    /// Bytes of memory that the host can give.
    pub memory_bytes: u64,
    /// RabbitMQ is installed on the agent's host.
    pub has_rabbitmq: bool,
}

/// Messages of one node in a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Arrivals {
    /// Their number.
    pub count: u64,
    /// Their windows, if this agent saw them arrive.
    pub counts: Counts,
    /// The broker has stopped publishers.
    pub has_alarm: bool,
}
