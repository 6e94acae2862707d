//! Messaging for applications that are split into components.
//!
//! A component is a [`Component`]. A component sends to an [`Exchange`] and receives from a [`Queue`]. Binding an
//! exchange to a queue makes a link. The directory (`hairstreak serve`) finds names that are [`Scope::Global`].
//! Messages go directly from component to component.
//!
//! ```no_run
//! use hairstreak::{Component, Scope, Style};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A program that hands out work, found by the name WORK ...
//! let component = Component::builder().directory("SVR001").build()?;
//! let work = component.exchange("WORK").scope(Scope::Global).style(Style::LoadBalancing).open()?;
//! work.send("a task")?;
//!
//! // In another process, or on another machine: a program that does the work.
//! let component = Component::builder().directory("SVR001").build()?;
//! let tasks = component.queue("TASKS").open()?;
//! component.bind("WORK", "TASKS")?;
//! let task = tasks.recv()?;
//! # Ok(())
//! # }
//! ```
//!
//! Reading order: [`Component`], [`Exchange`], [`Queue`], [`pipeline`] (work that is not lost), [`service`] (requests
//! and replies), [`topology`] (stages of processes that a file describes), [`calibration`] (the cost of messages on
//! this machine).

pub mod calibration;
mod component;
mod exchange;
pub mod pipeline;
mod queue;
// The programs in the README are doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
pub mod service;
pub mod topology;

pub use component::{
    BindError, Component, ComponentBuilder, DirectoryEntry, ExchangeBuilder, Kind, ListError, ObjectBuilder,
    OpenError, QueueBuilder, Scope,
};
pub use exchange::{Exchange, ExchangeStats, Style};
pub use hairstreak_services::names::client::{AskError, BuildError, PublicationError};
pub use hairstreak_services::{
    CURVE_KEY_VARIABLE, Credentials, CredentialsError, PASSWORD_FILE_VARIABLE, PASSWORD_VARIABLE,
    SERVER_KEY_VARIABLE, USER_VARIABLE,
};
pub use hairstreak_socket::security::{KeyPair, PublicKey, SecretKey};
pub use hairstreak_socket::{
    Endpoint, EndpointError, Message, Outgoing, RecvError, ResolveError, SendAllError, SendError,
};
pub use queue::{Queue, QueueStats};
