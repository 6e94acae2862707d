//! The client: it sends requests, waits for replies, and resends requests.
//!
//! - `handle`: [`Client`], for threads
//! - `task`: [`Client`], for tasks
//! - `driver`: the socket, and the effect of each message
//! - `broker_connection`: one of several connections to a plain broker
//! - `wait_set`: waits for all of these connections
//! - `open`: open requests and the parts of their replies
//! - `options`, `error`: limits and errors

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
