//! The report of a broker of services about itself: what a request for [`REPORT_SERVICE`] is answered with, in JSON.
//!
//! The broker writes it and `hairstreak services` reads it. Totals count from the broker's start. A reader ignores fields that
//! it does not know.

use serde::{Deserialize, Serialize};

/// The service whose reply is a [`Report`], in JSON.
pub const REPORT_SERVICE: &str = "hairstreak.services";

/// The state of a broker.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Report {
    /// Clients that are connected or may come back.
    pub clients: usize,
    /// Requests that were taken and not answered.
    pub open: usize,
    /// Bytes of these requests.
    pub open_bytes: usize,
    /// Bytes of the replies that wait for their clients.
    pub unread_bytes: usize,
    /// Messages that went no further.
    pub drops: Drops,
    /// The broker's services, by name.
    pub services: Vec<ServiceReport>,
}

/// The state of one service.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct ServiceReport {
    /// Its name. Bytes that are not UTF-8 are replaced.
    pub name: String,
    /// Its workers.
    pub workers: usize,
    /// Requests that its workers may have together.
    pub capacity: u64,
    /// Requests that its workers have.
    pub outstanding: u64,
    /// Requests that wait.
    pub queued: usize,
    /// The age of the oldest request that waits, in milliseconds.
    pub oldest_ms: u64,
    /// Requests so far.
    pub requests: u64,
    /// Replies so far.
    pub replies: u64,
    /// Requests that got no reply, so far.
    pub refusals: u64,
    /// How often a request was given to one more worker.
    pub redeliveries: u64,
}

/// Messages that a broker dropped, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drops {
    /// They are no commands, or their sender may not send them.
    pub malformed: u64,
    /// Replies to requests that their worker does not have, or has no longer.
    pub late: u64,
    /// Replies whose client is gone or reads nothing.
    pub unread: u64,
    /// Requests of plain MDP, which knows no refusal.
    pub refused: u64,
}
