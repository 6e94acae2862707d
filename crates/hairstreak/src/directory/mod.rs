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

mod client;
mod follow;
mod publication;
mod registration;

pub(crate) use client::{AskError, Client, Found, OnDelay, because};
pub(crate) use follow::Follow;
pub(crate) use publication::Publication;
pub use publication::PublicationError;
pub(crate) use registration::{RegisterError, Registration};
