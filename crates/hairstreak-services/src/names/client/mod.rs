//! The client of the directory: one per node that has one, with a thread of its own.
//!
//! Whoever asks sends its request from its own thread and waits for the reply on a channel. The
//! client's thread takes replies apart, and once a second renews every registration and asks for
//! every name that is followed. Nothing is remembered on the wire: a directory that was killed and
//! started again has every name back within a second of being reached.
//!
//! - `client`: the connection, the thread, requests and replies
//! - `registration`: a name that is held
//! - `follow`: a name that is watched for a new endpoint
//! - `publication`: which endpoint others are told

#[expect(clippy::module_inception, reason = "the type is what the folder is about")]
mod client;
mod error;
mod follow;
pub mod host_port;
mod publication;
mod registration;

pub use client::{AskError, Client, Found, OnDelay, because};
pub use error::BuildError;
pub use follow::Follow;
pub use publication::Publication;
pub use publication::PublicationError;
pub use registration::{RegisterError, Registration};
