//! The client: asks, waits, asks again.
//!
//! - `handle`: [`Client`], what callers do
//! - `task`: the same in a task
//! - `driver`: the socket, and what each message changes
//! - `connection`: one of several connections to a plain broker
//! - `wait_set`: what is waited with where there are several
//! - `open`: which requests are open, and what has come for them
//! - `options`, `error`: limits, and what goes wrong

mod broker_connection;
mod driver;
mod error;
mod handle;
mod open;
mod options;
mod task;
mod wait_set;

pub use error::{ClientError, RequestError};
pub use handle::{Client, Replies};
pub use open::Reply;
pub use options::ClientOptions;
