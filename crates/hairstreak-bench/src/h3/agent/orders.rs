//! The lines of JSON between a controller and an agent: an [`Order`] one way, a `Result` of its answer the other way.
//!
//! | order | answers |
//! |---|---|
//! | `Greet` | [`Greeting`] |
//! | `Open` | the endpoint of the broker for this transport, if there is one |
//! | `Receive`, `Relay` | the endpoint of the listener, then [`Arrivals`](crate::h3::data::Arrivals) |
//! | `Send`, `Publish` | [`Arrivals`](crate::h3::data::Arrivals) |
//! | `Tally` | the [`Tally`](crate::h3::data::Tally), and whether the broker has written messages to disk |

use serde::{Deserialize, Serialize};

use crate::h3::contender::{Broker, Transport};
use crate::h3::plan::Flow;

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
    /// Digest the `count` messages of the run with this key. Where a queue is open, consume them and delete the queue.
    Tally { key: u64, count: u64 },
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
