//! The client: asks, waits, asks again.
//!
//! - `handle`: [`Client`], what callers do
//! - `task`: the same in a task
//! - `driver`: the socket, and whose turn it is at it
//! - `open`: which requests are open, and what has come for them
//! - `options`, `error`: limits, and what goes wrong

mod driver;
mod error;
mod handle;
mod open;
mod options;
mod task;

pub use error::{ClientError, RequestError};
pub use handle::{Client, Replies};
pub use open::Reply;
pub use options::ClientOptions;
