//! Why an agent cannot do what it was told.

use std::io;

use hairstreak_node::StartError;

use crate::broker::amqp::AmqpError;
use crate::broker::server::ServerError;

/// Why an agent cannot do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// A stream failed, or the controller's connection.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The controller's line is no order.
    #[error("not an order of this version: {0}")]
    Order(#[from] serde_json::Error),
    /// A broker said something else than it had to.
    #[error(transparent)]
    Amqp(#[from] AmqpError),
    /// Our node did not start.
    #[error("the node: {0}")]
    Node(#[from] StartError),
    /// RabbitMQ did not start.
    #[error("RabbitMQ: {0}")]
    RabbitMq(#[from] ServerError),
    /// RabbitMQ is not here.
    #[error("no RabbitMQ here ({0} is not there; Debian's package is rabbitmq-server)")]
    NoRabbitMq(String),
    /// The controller is of another version.
    #[error("the controller has version {theirs}, this agent {ours}: use the same on all hosts")]
    Version {
        /// The controller's.
        theirs: String,
        /// The agent's.
        ours: &'static str,
    },
    /// More memory was asked for than there is.
    #[error("room for {asked} bytes was asked for; this host has {available} (--memory bounds a run)")]
    Memory {
        /// So much.
        asked: u64,
        /// There is so much.
        available: u64,
    },
    /// An order came before the one that it needs.
    #[error("{0} before there is anything to do it with")]
    TooEarly(&'static str),
    /// The queue has another number of messages.
    #[error("{found} messages were in the queue, {expected} were confirmed")]
    Queue {
        /// So many were there.
        found: u64,
        /// So many had to be.
        expected: u64,
    },
}
