//! Services: requests of clients go to workers, and replies go back, even if a client, a worker or a broker dies.
//!
//! A request's life, numbered by its client or (for plain MDP) by the broker:
//!
//! ```text
//!             sent before, to another broker                 nobody said in time that he has it
//!  REQUEST ------------------------------------> holding ------------------------------------+
//!     |                                             |  a worker says that he has it          |
//!     |                                             +----------------------------+           |
//!     v          a worker has room                                               v           |
//!   queued ------------------------------------------------------------> dispatched          |
//!     ^  |  too old, or its client waits no more                              |  |           |
//!     |  +-------------------> REFUSED                                FINAL <-+  |           |
//!     |                           ^                                              |           |
//!     |                           | one time too many                            |           |
//!     +---------------------------+----------------------------------------------+           |
//!     |                             its worker is gone, or took too long                     |
//!     +--------------------------------------------------------------------------------------+
//! ```
//!
//! The broker stores nothing. After its death clients resend their open requests. Workers report the requests that they
//! run or have replied to, so that no work is done twice (design rules of services: 1 to 6 of ADR 0019). An answered
//! request is remembered by the name of its worker until the client's first open number has passed it.
//!
//! Invariants, tested on random events: a request that was taken is answered or refused exactly once if its client
//! stays; no request is with two workers; no state outgrows [`Options`].
//!
//! Reading order: `machine` (events), `clients`, `departures` and `window` (numbers), `requests` and `request_list`,
//! `services` (queues, and the order of workers), `workers`; `plain` and `hsn1` (commands), `members` (roles),
//! `arrivals`, `dispatch`, `suspects`, `held` and `early` (work from before), `replies`, `unread` (clients that do not
//! read), `sweep` (time), `management` (MMI, reports), `permissions` and `caller` (permissions of users).
//!
//! Other parts: bytes are in the wire crate, connections and the clock in the node.

mod arrivals;
mod caller;
mod clients;
mod departures;
mod dispatch;
mod early;
mod held;
mod hsn1;
mod machine;
mod management;
mod members;
mod options;
mod permissions;
mod plain;
mod replies;
mod request_list;
mod requests;
mod services;
mod suspects;
mod sweep;
#[cfg(test)]
mod tests;
mod unread;
mod window;
mod workers;

pub use machine::Broker;
pub use options::{Limits, Options};
