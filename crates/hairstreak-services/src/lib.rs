//! Services and names: Majordomo's broker, client and worker, and the directory with its client.
//!
//! | part | machine, without I/O | what drives it |
//! |---|---|---|
//! | the broker of services | [`broker`] | the node |
//! | the directory | [`names`] | the node |
//! | a client of services | `client/open.rs` | [`Client`], in the thread that calls |
//! | a worker | `worker/session.rs` | [`Worker`], in its threads |
//! | a client of the directory | | [`names::client`], a thread of its own |
//!
//! The machines of the node are driven alike. `handle_...` tells of an event and lends an [`Outbox`] for the effects;
//! `next_timeout` says when `handle_timeout` is due. Time is an argument, so a test runs a day of leases in a millisecond.

mod admission;
pub mod broker;
mod client;
mod credentials;
mod gate;
pub mod names;
mod outbox;
mod worker;

pub use admission::Admission;
pub use client::{Client, ClientError, ClientOptions, Replies, Reply, RequestError};
pub use credentials::{
    CURVE_KEY_VARIABLE, Credentials, CredentialsError, PASSWORD_FILE_VARIABLE, PASSWORD_VARIABLE,
    SERVER_KEY_VARIABLE, USER_VARIABLE,
};
pub use gate::{Gate, OpenGate, Operation};
pub use outbox::{Outbox, Sent};
pub use worker::{
    HandlerError, MemoryStore, ReplyStore, Request, StoredReply, Worker, WorkerControl, WorkerError,
    WorkerOptions, WorkerReport,
};
