//! What a part of a service is told (a [`Task`], one JSON argument) and what it answers (one [`Answer`] a line).

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::processes;
use crate::rival::RIVAL_NAME;
use crate::usage::Usage;

/// Through what the requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum ServiceCase {
    /// A proxy, in the process of client and worker
    Tripping,
    /// A Majordomo broker, in a process of its own as the client and each worker
    Services,
    /// The same, all workers those of the plain Majordomo: one request at a time
    PlainWorkers,
    /// The same, and the next requests wait in the workers' sockets (`plain-capacity`)
    StockedPlainWorkers,
}

impl ServiceCase {
    /// Its name in reports and options.
    pub fn text(self) -> &'static str {
        match self {
            Self::Tripping => "tripping",
            Self::Services => "services",
            Self::PlainWorkers => "plain workers",
            Self::StockedPlainWorkers => "stocked plain workers",
        }
    }

    /// What a request holds, and its reply.
    pub fn body(self) -> &'static [u8] {
        match self {
            Self::Tripping => b"hello",
            Self::Services | Self::PlainWorkers | Self::StockedPlainWorkers => b"Hello world",
        }
    }
}

/// How the client asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// One request, its reply, and the next.
    Sync,
    /// All requests, then all replies.
    Async,
}

impl Mode {
    /// Its name in reports.
    pub fn text(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Async => "async",
        }
    }
}

/// Whose programs they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// Ours: DEALERs and `Proxy`.
    Proxy,
    /// libzmq: DEALERs and zmq_proxy.
    LibzmqProxy,
    /// libzmq: a plain Majordomo.
    LibzmqMajordomo,
    /// Ours: the node's broker, `service::Client` and `service::Worker`s that say how many requests they may have.
    Services,
    /// Ours, but the workers are those of the plain Majordomo: one request at a time.
    ServicesOfPlainWorkers,
    /// The same, the broker with `plain-capacity`.
    ServicesOfStockedPlainWorkers,
}

impl Scheme {
    /// The name in messages to people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Proxy => "hairstreak, proxy",
            Self::LibzmqProxy => "libzmq, zmq_proxy",
            Self::LibzmqMajordomo => "libzmq, Majordomo",
            Self::Services => "hairstreak",
            Self::ServicesOfPlainWorkers => "hairstreak, plain workers",
            Self::ServicesOfStockedPlainWorkers => "hairstreak, stocked plain workers",
        }
    }

    /// Whose it is, in reports.
    pub fn owner(self) -> &'static str {
        match self {
            Self::Proxy
            | Self::Services
            | Self::ServicesOfPlainWorkers
            | Self::ServicesOfStockedPlainWorkers => "hairstreak",
            Self::LibzmqProxy | Self::LibzmqMajordomo => RIVAL_NAME,
        }
    }
}

/// Which process of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Client, proxy and worker in one.
    All,
    /// Passes requests to workers, and replies back.
    Broker,
    /// Asks, and has the clock.
    Client,
    /// Replies; this one has this number.
    Worker(u8),
}

impl Role {
    /// Its name in reports; all workers have one.
    pub fn text(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Broker => "broker",
            Self::Client => "client",
            Self::Worker(_) => "workers",
        }
    }
}

/// One part of one sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// How.
    pub scheme: Scheme,
    /// Which part.
    pub role: Role,
    /// How the client asks.
    pub mode: Mode,
    /// Requests of the sample.
    pub request_count: u64,
    /// Workers of the sample.
    pub worker_count: u8,
    /// The broker's, to connect to; its own it makes itself.
    pub endpoint: String,
    /// The libzmq to load.
    pub libzmq: String,
}

/// A line a part prints. The broker listens at one endpoint.
pub type Answer = processes::Answer<Measurement>;

/// What a part measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// From the first request to the last reply, in seconds; of others than the client the time it was there.
    pub elapsed_s: f64,
    /// Used by this process: by the client, or all in one, since the first request, by others since the start.
    pub usage: Usage,
}

impl Measurement {
    /// Of two processes that were there at the same time.
    pub fn beside(&self, other: &Self) -> Self {
        Self { elapsed_s: self.elapsed_s.max(other.elapsed_s), usage: self.usage.plus(&other.usage) }
    }
}
