//! The task of a keeper, in JSON, and its answer in one line.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::cores::CoreRange;

/// A broker under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerKind {
    /// `hairstreak serve`.
    Node,
    /// RabbitMQ.
    RabbitMq,
    /// The limit program.
    Limit,
}

impl ServerKind {
    /// The name in messages to people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Node => "hairstreak",
            Self::RabbitMq => "RabbitMQ",
            Self::Limit => "limit",
        }
    }
}

/// The broker to keep, and how to start that broker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerTask {
    /// Which.
    pub kind: ServerKind,
    /// Event loops of the node; `None`: as many as it chooses.
    pub loop_count: Option<u32>,
    /// The cores to keep to; `None`: all.
    pub cores: Option<CoreRange>,
    /// The script that starts RabbitMQ.
    pub rabbitmq: String,
    /// The address that RabbitMQ listens on. Anyone who reaches another one than the loopback interface's may log in.
    pub host: IpAddr,
    /// Bytes at which RabbitMQ stops publishers; `None`: as Debian's package has it.
    pub memory_bytes: Option<u64>,
}

/// The broker answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerAnswer {
    /// Where it speaks AMQP.
    pub address: SocketAddr,
    /// The address of HTTP, if the broker has HTTP.
    pub http: Option<SocketAddr>,
    /// Its process.
    pub process_id: u32,
    /// The directory of RabbitMQ's data.
    pub data: Option<PathBuf>,
}
