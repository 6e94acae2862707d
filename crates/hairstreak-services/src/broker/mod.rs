//! Services: requests of clients go to workers, and their replies back; whoever dies on the way.
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
//! The broker stores nothing: after its death clients send what is open again, and workers say which requests they
//! run or have the reply to, so that what was done is not done again (design rules of services: 1 to 6 of ADR 0019).
//! What is answered is remembered by its worker's name until the client's first open number has passed it.
//!
//! Invariants, tested on random events: a request that was taken is answered or refused exactly once to a client that
//! stays; none is with two workers; nothing outgrows [`Options`].
//!
//! Reading order: `machine` (events), `clients`, `departures` and `window` (numbers), `requests` and `request_list`, `services` (queues, and
//! who is least busy), `workers`; `plain` and `hsn1` (what each command does), `members` (who is what), `arrivals`,
//! `dispatch`, `suspects`, `held` and `early` (what was done before), `replies`, `unread` (clients that do not read), `sweep` (time),
//! `management` (MMI, reports), `permissions` and `caller` (what users may do).
//!
//! Not here: bytes (the wire crate), connections and the clock (the node).

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
