//! `Report`: the report of a broker of services about itself, in JSON. It is the reply to a request for
//! [`REPORT_SERVICE`].
//!
//! The broker writes it and `hairstreak services` reads it. Totals count from the broker's start. A reader ignores
//! unknown fields.

use serde::{Deserialize, Serialize};

/// The service whose reply is a [`Report`], in JSON.
pub const REPORT_SERVICE: &str = "hairstreak.services";

/// The state of a broker.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Report {
    /// Clients that are connected or may reconnect.
    pub clients: usize,
    /// Accepted requests without an answer.
    pub open: usize,
    /// Bytes of these requests.
    pub open_bytes: usize,
    /// Bytes of the replies that wait for their clients.
    pub unread_bytes: usize,
    /// Messages that were dropped.
    pub drops: Drops,
    /// The broker's services, by name.
    pub services: Vec<ServiceReport>,
}

/// The state of one service.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct ServiceReport {
    /// Name of the service. Bytes that are not UTF-8 are replaced.
    pub name: String,
    /// Number of workers.
    pub workers: usize,
    /// Total number of requests that the workers take at a time.
    pub capacity: u64,
    /// Number of requests that the workers have.
    pub outstanding: u64,
    /// Number of waiting requests.
    pub queued: usize,
    /// Age of the oldest waiting request, in milliseconds.
    pub oldest_ms: u64,
    /// Number of requests so far.
    pub requests: u64,
    /// Number of replies so far.
    pub replies: u64,
    /// Number of requests so far that got no reply.
    pub refusals: u64,
    /// Number of times that a request was given to one more worker.
    pub redeliveries: u64,
}

/// Messages that a broker dropped, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drops {
    /// Messages that are not commands, or that their sender is not permitted to send.
    pub malformed: u64,
    /// Replies to requests that their worker does not have, or no longer has.
    pub late: u64,
    /// Replies whose client is gone or does not read.
    pub unread: u64,
    /// Requests of plain MDP that were refused: MDP has no message for a refusal.
    pub refused: u64,
}
