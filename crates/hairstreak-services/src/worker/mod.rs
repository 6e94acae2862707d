//! The worker: serves, and remembers what it replied for as long as its client may ask again.
//!
//! - `run`: [`Worker`], its threads, and [`WorkerControl`]
//! - `receiver`, `deputy`: the receiving side, and the thread that takes over while a handler runs long
//! - `pauses`: notices that the process has not run for a while
//! - `request`: what a handler is given
//! - `board`: what runs, and what has been replied
//! - `store`: where replies are kept
//! - `session`: what is spoken with one broker
//! - `link`: one broker's socket
//! - `options`, `error`: limits, and what goes wrong

mod board;
mod deputy;
mod error;
mod link;
mod options;
mod pauses;
mod receiver;
mod request;
mod run;
mod session;
mod store;

pub use error::WorkerError;
pub use options::WorkerOptions;
pub use request::Request;
pub use run::{HandlerError, Worker, WorkerControl, WorkerReport};
pub use store::{MemoryStore, ReplyStore, StoredReply};
