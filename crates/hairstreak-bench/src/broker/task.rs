//! The task of a client (a [`Task`], one JSON argument) and its answers (one [`Answer`] a line).

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::amqp::{AmqpError, Link};
use super::timing::{Histogram, Latency};
use crate::frame::cores::CoreRange;
use crate::frame::processes;
use crate::frame::usage::Usage;

/// Returns the name of queue `index`.
pub fn queue_name(index: u32) -> String {
    format!("queue.{index}")
}

/// The role of a client process in a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Publishes.
    Producer,
    /// Consumes.
    Consumer,
    /// Publishes one message, or a window of them, and consumes it before it publishes the next.
    RoundTrip,
}

impl Role {
    /// The name in reports.
    pub fn text(self) -> &'static str {
        match self {
            Self::Producer => "producer",
            Self::Consumer => "consumer",
            Self::RoundTrip => "client",
        }
    }
}

/// The flow of messages in a sample: the same for all contenders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Bytes of a body.
    pub body_size: u32,
    /// Queues; each has a key of its own.
    pub queue_count: u32,
    /// Every message goes to every queue.
    pub is_fanout: bool,
    /// The queues outlive the broker, and so do the messages.
    pub is_durable: bool,
    pub is_persistent: bool,
    /// Connections that publish, each to the queue of its number (counted round). Where there are more queues, each
    /// publishes to several queues in turns.
    pub producer_count: u32,
    /// Connections that consume, likewise.
    pub consumer_count: u32,
    /// Publishes that may be without their confirm, or messages of a round trip; `None`: no confirms, and one message.
    pub confirm_window: Option<u32>,
    /// Deliveries that are acknowledged at once; `None`: by the broker as it sends them.
    pub ack_each: Option<u32>,
    /// Consumers take the messages that are in the queues, and no marker comes.
    pub is_stored: bool,
    /// Published messages a second, each batch with the time at which it was due; `None`: as many as the socket takes.
    pub rate_per_s: Option<f64>,
    /// Time in which a producer publishes, and in which consumers take stored messages, in seconds.
    pub duration_s: f64,
    /// The most messages that a connection publishes.
    pub message_count_max: u64,
}

impl Flow {
    /// Returns the number of queues that a message goes to.
    pub fn copy_count(&self) -> u32 {
        if self.is_fanout { self.queue_count } else { 1 }
    }

    /// Returns the name of the exchange, and its type.
    pub fn exchange(&self) -> (&'static str, &'static str) {
        if self.is_fanout { ("fan", "fanout") } else { ("bench", "topic") }
    }

    /// Returns the key that leads to queue `index`, or to all queues. All keys have the same size.
    pub fn routing_key(&self, index: u32) -> String {
        let digit_count = self.queue_count.saturating_sub(1).checked_ilog10().unwrap_or(0) as usize + 1;
        format!("key.{:0digit_count$}", if self.is_fanout { 0 } else { index })
    }

    /// Declares the exchange and its queues, the latter empty.
    pub fn declare(&self, link: &mut Link) -> Result<(), AmqpError> {
        let (exchange, kind) = self.exchange();
        link.declare_exchange(exchange, kind)?;
        for index in 0..self.queue_count {
            let queue = queue_name(index);
            link.delete_queue(&queue)?;
            match self.is_durable {
                true => link.declare_durable_queue(&queue)?,
                false => link.declare_queue(&queue)?,
            }
            link.bind(&queue, exchange, &self.routing_key(index))?;
        }
        Ok(())
    }

    /// Returns the numbers of the queues to which producer `number` publishes.
    pub fn queues_of(&self, number: u32) -> impl Iterator<Item = u32> {
        let end = if self.is_fanout { 1 } else { self.queue_count };
        (number % self.queue_count..end).step_by(self.producer_count as usize)
    }

    /// Returns the numbers of the queues that consumer `number` consumes.
    pub fn consumed_queues(&self, number: u32) -> impl Iterator<Item = u32> {
        (number % self.queue_count..self.queue_count).step_by(self.consumer_count as usize)
    }

    /// Returns the number of messages that all producers publish at most.
    pub fn count_max(&self) -> u64 {
        self.message_count_max * u64::from(self.producer_count)
    }
}

/// One client of one sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The role.
    pub role: Role,
    /// The address of the broker.
    pub address: SocketAddr,
    /// The flow of messages.
    pub flow: Flow,
    /// The cores to keep to; `None`: all.
    pub cores: Option<CoreRange>,
}

/// A line that a client prints. A consumer is bound, to nothing, as soon as all its connections consume.
pub type Answer = processes::Answer<Measurement>;

/// Measurements of a client. Times come from the system's monotonic clock, so that processes can be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Messages that it published, or received.
    pub message_count: u64,
    /// The beginning, in nanoseconds.
    pub begin_ns: u64,
    /// The end, in nanoseconds.
    pub end_ns: u64,
    /// Consumption of the process in between.
    pub usage: Usage,
    /// Latencies of messages, if the messages carry their due times.
    pub latency: Option<Latency>,
}

/// The messages of one connection, or of several together.
#[derive(Debug)]
pub struct End {
    /// Messages that were published, or received.
    pub count: u64,
    /// The time at which the last message was written, confirmed, stored, or read.
    pub ns: u64,
    /// Latencies of messages, if the messages carry their due times.
    pub histogram: Histogram,
}
