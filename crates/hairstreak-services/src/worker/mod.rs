//! The worker: it serves requests, and remembers its replies for as long as their clients may ask again.
//!
//! - `run`: [`Worker`], its threads, and [`WorkerControl`]
//! - `receiver`, `deputy`: the receiving side, and the thread that takes over while a handler runs long
//! - `pauses`: detects that the process was not running for a while
//! - `request`: the argument of a handler
//! - `board`: the running requests, and the replies
//! - `store`: the storage of replies
//! - `session`: the protocol with one broker
//! - `link`: the socket of one broker
//! - `options`, `error`: limits and errors

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
