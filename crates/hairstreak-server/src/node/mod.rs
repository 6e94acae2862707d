//! The node: the state that all its connections share, whatever they speak.
//!
//! Reading order: [`Node`], [`SharedHost`] (a virtual host behind its lock), `outlets` and `encoding` (the way of deliveries to connections), `alarm`
//! (memory), `timekeeper` (expiry).

mod account;
mod alarm;
mod catalog;
mod clock;
mod connections;
pub(crate) mod encoding;
mod hosts;
mod journal;
mod lingering;
#[expect(clippy::module_inception, reason = "the type is what the folder is about")]
mod node;
mod options;
mod outlets;
mod parking;
mod pass;
mod passes;
mod post;
mod publishers;
mod received;
mod recording;
mod refused_logins;
mod refusing;
mod settings;
mod shared_host;
mod subject;
mod timekeeper;
mod totals;

pub(crate) use account::Account;
pub(crate) use connections::{ClientInfo, ConnectionEntry, Figures, Listed, Peer};
pub(crate) use journal::{Commit, Journal, JournalError};
#[cfg(test)]
pub(crate) use lingering::Lingering;
pub(crate) use lingering::LingeringPlace;
pub(crate) use node::Node;
pub use options::{AmqpOptions, FirstUser};
pub(crate) use outlets::{OPERATORS, REPLIES_BYTES_MAX, Taken, UNWRITTEN_MAX};
pub(crate) use pass::Pass;
pub(crate) use post::Post;
pub(crate) use publishers::{Publisher, Publishers};
pub(crate) use received::Received;
pub(crate) use recording::from_definition;
pub(crate) use shared_host::{HostState, SharedHost};
pub(crate) use subject::{Ends, Subject};
pub(crate) use totals::Totals;
