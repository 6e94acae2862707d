//! Services and names: Majordomo's broker, client and worker, and the directory with its client.
//!
//! | part | machine, without I/O | driver |
//! |---|---|---|
//! | the broker of services | [`broker`] | the node |
//! | the directory | [`names`] | the node |
//! | a client of services | `client/open.rs` | [`Client`], in the thread that calls |
//! | a worker | `worker/session.rs` | [`Worker`], in its threads |
//! | a client of the directory | | [`names::client`], a thread of its own |
//!
//! All machines of the node are driven in the same way. A `handle_...` call reports an event and lends an [`Outbox`]
//! for the effects. `next_timeout` returns the time at which `handle_timeout` is due. Time is an argument, so a test
//! runs a day of leases in a millisecond.

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
