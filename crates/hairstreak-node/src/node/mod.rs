//! The node: the state that the connections of all protocols share.
//!
//! Reading order: [`Node`], [`SharedHost`] (a virtual host behind its lock), `outlets` and `encoding` (the way of deliveries to
//! connections), `alarm` (publishers that wait), `disk_watch` (the disk of the message log), `timekeeper` (expiry).

mod account;
mod alarm;
mod barriers;
mod catalog;
mod connections;
mod disk_watch;
pub mod encoding;
mod hosts;
mod journal;
mod lingering;
mod messages;
#[expect(clippy::module_inception, reason = "the type is what the folder is about")]
mod node;
mod outlets;
mod paging;
mod parking;
mod pass;
mod passes;
mod reached;
mod received;
mod recording;
mod refused_logins;
mod settings;
mod shared_host;
mod subject;
mod timekeeper;
mod totals;
mod waiting;

pub use account::Account;
pub use alarm::Reason;
pub use connections::Post;
pub use connections::{ClientInfo, ConnectionEntry, Figures, Listed, Peer};
pub use journal::{Commit, Journal, JournalError};
#[cfg(test)]
pub use lingering::Lingering;
pub use lingering::LingeringPlace;
pub use messages::Messages;
pub use node::Node;
pub use outlets::{OPERATORS, REPLIES_BYTES_MAX, Taken, UNWRITTEN_MAX};
pub use pass::Pass;
pub use reached::{Awaited, Reached};
pub use received::Received;
pub use received::{Publisher, Publishers};
pub use recording::{exchange_declaration, from_definition, queue_declaration};
pub use shared_host::{HostState, SharedHost};
pub use subject::{Ends, Subject};
pub use totals::Totals;
pub use waiting::Waiter;
