//! What a worker process is told (a [`Task`], one JSON argument) and what it answers (one [`Answer`] a line).

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::scenario::Transport;
use crate::processes;
use crate::usage::Usage;

/// Messages in one batch call, of ours and of the limit programs.
pub const BATCH_COUNT: usize = 64;

/// Subscribers that get each message of [`CaseName::PubSub`].
pub const SUBSCRIBER_COUNT: usize = 4;

/// Messages of [`CaseName::Echo`] under way at one time.
const OUTSTANDING_COUNT: u64 = 1000;
/// Large ones are fewer: what is under way has to fit the queues of both directions, or both ends block in a send.
const OUTSTANDING_BYTES_MAX: u64 = 2 << 20;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum CaseName {
    /// One way, as many as go through.
    Throughput,
    /// The same through CURVE.
    Curve,
    /// PUB to four SUBs.
    PubSub,
    /// There and back, one at a time.
    RoundTrip,
    /// DEALER to ROUTER and back, many under way.
    Echo,
}

impl CaseName {
    /// Its name in reports and options.
    pub fn text(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Curve => "curve",
            Self::PubSub => "pub_sub",
            Self::RoundTrip => "round_trip",
            Self::Echo => "echo",
        }
    }

    /// What its rates count.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Throughput | Self::Curve | Self::PubSub => "messages/s",
            Self::RoundTrip | Self::Echo => "round_trips/s",
        }
    }
}

/// How the application calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Calls {
    /// One message per call, on both sides.
    One,
    /// Up to 64 messages per call, on both sides.
    Batch,
    /// One message per call; its body is made once and every message refers to it.
    Handle,
    /// One message per call; who waits looks before it sleeps.
    Spin,
}

impl Calls {
    /// Its name in reports and options.
    pub fn text(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Batch => "batch",
            Self::Handle => "handle",
            Self::Spin => "spin",
        }
    }
}

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContenderName {
    /// Hairstreak's sockets.
    Ours,
    /// The system's libzmq.
    Libzmq,
    /// The bare program that does no more than the case needs.
    Limit,
}

impl ContenderName {
    /// The name in messages to people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Ours => "hairstreak",
            Self::Libzmq => "libzmq",
            Self::Limit => "limit program",
        }
    }
}

/// Which end of a sample a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Binds, and holds the clock: it receives, or starts the round trips.
    Measurer,
    /// Connects: it sends, or returns what it gets.
    Peer,
    /// Both in one process, a thread each (inproc).
    Both,
}

/// One worker's part of one sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// What is measured.
    pub case: CaseName,
    /// Over what.
    pub transport: Transport,
    /// Bytes per message.
    pub size: usize,
    /// How the application calls.
    pub calls: Calls,
    /// Whose sockets.
    pub contender: ContenderName,
    /// Which end.
    pub role: Role,
    /// Independent streams.
    pub stream_count: usize,
    /// Messages, or round trips, of each stream.
    pub message_count: u64,
    /// What the peer connects to: the measurer's receiving ends, then (round trips) its sending end.
    pub endpoints: Vec<String>,
    /// Whether allocations are counted, which slows them down.
    pub is_counting: bool,
    /// The libzmq to load.
    pub libzmq: String,
}

impl Task {
    /// Sockets that receive, each with a thread of its own, where messages go one way.
    pub fn receiver_count(&self) -> usize {
        if self.case == CaseName::PubSub { SUBSCRIBER_COUNT } else { self.stream_count }
    }

    /// Messages of an echo under way at one time.
    pub fn outstanding_count(&self) -> u64 {
        OUTSTANDING_COUNT.min(OUTSTANDING_BYTES_MAX / self.size.max(1) as u64).clamp(1, self.message_count)
    }
}

/// A line a worker prints. The measurer listens; the peer may start.
pub type Answer = processes::Answer<Measurement>;

/// What a worker measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Messages, or round trips, while the clock ran; 0 for a peer, which has none.
    pub timed_count: u64,
    /// The clock, in seconds.
    pub elapsed_s: f64,
    /// Used by this process for all messages, timed or not.
    pub usage: Usage,
}
