//! Messaging for applications that are split into components.
//!
//! A component is a [`Node`]. It sends to an [`Exchange`] and receives from a [`Queue`]; binding the
//! one to the other makes a link. Names that are [`Scope::Global`] are found through the directory
//! (`hairstreak serve`), the messages themselves go from component to component.
//!
//! ```no_run
//! use hairstreak::{Node, Scope, Style};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A program that hands out work, found by the name WORK ...
//! let node = Node::builder().directory("SVR001").build()?;
//! let work = node.exchange("WORK").scope(Scope::Global).style(Style::LoadBalancing).open()?;
//! work.send("a task")?;
//!
//! // ... and, in another process or on another machine, one that does it.
//! let node = Node::builder().directory("SVR001").build()?;
//! let tasks = node.queue("TASKS").open()?;
//! node.bind("WORK", "TASKS")?;
//! let task = tasks.recv()?;
//! # Ok(())
//! # }
//! ```
//!
//! Reading order: [`Node`] and node/ (opening, binding), [`Exchange`], [`Queue`], directory/ (its
//! client), [`pipeline`] (work that is not lost), [`service`] (requests that are answered), [`topology`] (several components described by a file),
//! [`calibration`] (what this machine takes for messages).

mod admission;
pub mod calibration;
mod credentials;
mod directory;
mod exchange;
mod host_port;
mod marks;
mod node;
pub mod pipeline;
mod queue;
// Its programs are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
mod scope;
pub mod service;
mod style;
pub mod topology;

pub use credentials::{
    CURVE_KEY_VARIABLE, Credentials, CredentialsError, PASSWORD_FILE_VARIABLE, PASSWORD_VARIABLE,
    SERVER_KEY_VARIABLE, USER_VARIABLE,
};
pub use directory::PublicationError;
pub use exchange::{Exchange, ExchangeBuilder, ExchangeStats};
pub use hairstreak_socket::security::{KeyPair, PublicKey, SecretKey};
pub use hairstreak_socket::{
    Endpoint, EndpointError, Message, Outgoing, RecvError, ResolveError, SendAllError, SendError,
};
pub use node::{BindError, BuildError, DirectoryEntry, Kind, ListError, Node, NodeBuilder, OpenError};
pub use queue::{Queue, QueueBuilder, QueueStats};
pub use scope::Scope;
pub use style::Style;
