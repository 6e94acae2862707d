//! The task of a client (a [`Task`], one JSON argument) and its answers (one [`Answer`] a line).

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::histogram::Latency;
use crate::cores::CoreRange;
use crate::processes;
use crate::usage::Usage;

/// The topic exchange of most cases.
pub const TOPIC_EXCHANGE: &str = "bench";
/// The fanout exchange.
pub const FANOUT_EXCHANGE: &str = "fan";

/// The name of queue `index`.
pub fn queue_name(index: u32) -> String {
    format!("queue.{index}")
}

/// The key that leads to queue `index`.
pub fn routing_key(index: u32) -> String {
    format!("key.{index}")
}

/// The role of a client process in a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Publishes.
    Producer,
    /// Consumes.
    Consumer,
    /// Publishes one message and consumes it before it publishes the next.
    RoundTrip,
}

impl Role {
    /// Its name in reports.
    pub fn text(self) -> &'static str {
        match self {
            Self::Producer => "producer",
            Self::Consumer => "consumer",
            Self::RoundTrip => "client",
        }
    }
}

/// The flow of messages in a sample: the same for all contenders.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Bytes of a body.
    pub body_size: u32,
    /// Queues; each has a key of its own.
    pub queue_count: u32,
    /// Whether every message goes to every queue.
    pub is_fanout: bool,
    /// Connections that publish, each to the queue of its number (counted round).
    pub producer_count: u32,
    /// Connections that consume, likewise.
    pub consumer_count: u32,
    /// Publishes that may be without their confirm; `None`: no confirms.
    pub confirm_window: Option<u32>,
    /// Deliveries that are acknowledged at once; `None`: by the broker as it sends them.
    pub ack_each: Option<u32>,
    /// Messages a second that are published, each batch with the time at which it was due; `None`: as many as go.
    pub rate_per_s: Option<f64>,
    /// For how long a producer publishes, in seconds.
    pub duration_s: f64,
    /// How many messages a connection publishes at most.
    pub message_count_max: u64,
}

/// One client of one sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Which.
    pub role: Role,
    /// Where the broker is.
    pub address: SocketAddr,
    /// The flow of messages.
    pub flow: Flow,
    /// The cores to keep to; `None`: all.
    pub cores: Option<CoreRange>,
}

/// A line a client prints. A consumer is bound, to nothing, as soon as all its connections consume.
pub type Answer = processes::Answer<Measurement>;

/// Measurements of a client. Times are those of the system's monotonic clock, so that processes can be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Messages that it published, or that it received.
    pub message_count: u64,
    /// When it began, in nanoseconds.
    pub begin_ns: u64,
    /// When it was done, in nanoseconds.
    pub end_ns: u64,
    /// Used by its process in the meantime.
    pub usage: Usage,
    /// How long messages took, where they say when they were due.
    pub latency: Option<Latency>,
}
