//! The client of the directory: at most one for each component, with its own thread.
//!
//! A caller sends its request from its own thread and waits for the reply on a channel. The client's thread decodes
//! replies. Once a second it renews every registration and looks up every followed name. A restarted directory
//! therefore has every name back within a second of being reached.
//!
//! - `client`: the connection, the thread, requests and replies
//! - `registration`: a held name
//! - `follow`: a name that is watched for a new endpoint
//! - `publication`: the registered endpoint

#[expect(clippy::module_inception, reason = "the type is what the folder is about")]
mod client;
mod follow;
pub mod host_port;
mod publication;
mod registration;

pub use client::{AskError, BuildError, Client, Found, OnDelay};
pub use follow::Follow;
pub use publication::Publication;
pub use publication::PublicationError;
pub use registration::{RegisterError, Registration};
