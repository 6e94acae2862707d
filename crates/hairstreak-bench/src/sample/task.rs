//! The subjects of samples of sockets, and the tasks of their members.

use std::fmt;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::frame::name;
use crate::frame::usage::Usage;

/// Messages in one batch call, of ours and of the limit programs.
pub const BATCH_COUNT: usize = 64;

/// Subscribers that get each message of [`CaseName::PubSub`].
const SUBSCRIBER_COUNT: usize = 4;

/// Messages of [`CaseName::Echo`] under way at one time.
const OUTSTANDING_COUNT: u64 = 1000;
/// The bytes of [`CaseName::Echo`] under way at one time, which make large messages fewer. They must fit into the
/// queues of both directions, or both ends block in a send.
const OUTSTANDING_BYTES_MAX: u64 = 2 << 20;

/// The kind of traffic.
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
    /// The unit of its rates.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Throughput | Self::Curve | Self::PubSub => "messages/s",
            Self::RoundTrip | Self::Echo => "round_trips/s",
        }
    }
}

/// The calls of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Calls {
    /// One message per call, on both sides.
    One,
    /// Up to 64 messages per call, on both sides.
    Batch,
    /// One message per call. All messages refer to one body.
    Handle,
    /// One message per call. A receiver looks for a while before it sleeps.
    Spin,
}

/// A contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContenderName {
    /// Hairstreak's sockets.
    Ours,
    /// The system's libzmq.
    Libzmq,
    /// A bare program: the least work that the case needs.
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

/// The end of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Binds, and holds the clock: it receives, or starts the round trips.
    Measurer,
    /// Connects: it sends, or returns the messages that it gets.
    Peer,
    /// Both in one process, a thread each (inproc).
    Both,
}

/// One contender in one case over one transport.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// The kind of traffic.
    pub case: CaseName,
    /// The transport.
    pub transport: Transport,
    /// Bytes per message.
    pub size: usize,
    /// The calls of the application.
    pub calls: Calls,
    /// The contender.
    pub contender: ContenderName,
    /// Independent pairs of sockets at the same time, each with its own threads.
    pub stream_count: usize,
    /// Messages, or round trips, of each stream.
    pub message_count: u64,
    /// The libzmq to load.
    pub libzmq: String,
}

impl Subject {
    /// Endpoints of the measurer. Where messages go one way, they are sockets that receive, each with a thread of its own.
    pub fn endpoint_count(&self) -> usize {
        match self.case {
            CaseName::Throughput | CaseName::Curve => self.stream_count,
            CaseName::PubSub => SUBSCRIBER_COUNT,
            CaseName::RoundTrip => 2,
            CaseName::Echo => 1,
        }
    }

    /// Returns `true` if messages are encrypted.
    pub fn is_sealed(&self) -> bool {
        self.case == CaseName::Curve
    }

    /// Messages of an echo under way at one time.
    pub fn outstanding_count(&self) -> u64 {
        OUTSTANDING_COUNT.min(OUTSTANDING_BYTES_MAX / self.size.max(1) as u64).clamp(1, self.message_count)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (case, transport) = (name(&self.case), name(&self.transport));
        write!(out, "{} {case} {transport} {} B", self.contender.text(), self.size)?;
        if self.stream_count == 1 { Ok(()) } else { write!(out, ", {} streams", self.stream_count) }
    }
}

/// The task of a member of a sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The subject.
    #[serde(flatten)]
    pub subject: Subject,
    /// The end.
    pub role: Role,
    /// The endpoints to which the peer connects: the measurer's receiving ends, then (round trips) its sending end.
    pub endpoints: Vec<String>,
    /// Allocations are counted, which slows them down.
    pub is_counting: bool,
}

/// The measurement of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Messages, or round trips, while the clock ran; 0 for a peer, which has none.
    pub timed_count: u64,
    /// The clock, in seconds.
    pub elapsed_s: f64,
    /// Used by this process for all messages, timed or not.
    pub usage: Usage,
}

/// A transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// TCP on the loopback interface, two processes.
    Tcp,
    /// A unix socket with an abstract name, two processes.
    Ipc,
    /// Shared memory, two processes; libzmq, which has none, over a unix socket.
    Shm,
    /// Between threads of one process.
    Inproc,
}

#[cfg(test)]
impl Subject {
    /// A limit program that calls once per message.
    pub fn of_limit(case: CaseName, transport: Transport, size: usize) -> Subject {
        let (calls, contender, libzmq) = (Calls::One, ContenderName::Limit, String::new());
        Subject { case, transport, size, calls, contender, stream_count: 1, message_count: 1, libzmq }
    }
}
