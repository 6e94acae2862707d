//! The client: asks, waits, asks again.
//!
//! - `handle`: [`Client`], what callers do
//! - `task`: the same in a task
//! - `driver`: the socket, and what each message changes
//! - `lane`: one of several connections to a plain broker
//! - `bell`: what is waited with where there are several
//! - `open`: which requests are open, and what has come for them
//! - `options`, `error`: limits, and what goes wrong

mod bell;
mod driver;
mod error;
mod handle;
mod lane;
mod open;
mod options;
mod task;

pub use error::{ClientError, RequestError};
pub use handle::{Client, Replies};
pub use open::Reply;
pub use options::ClientOptions;
