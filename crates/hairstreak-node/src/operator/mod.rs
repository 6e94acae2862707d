//! The node as its operators see it: the operations of HTTP, metrics and operators' programs, for all protocols.
//!
//! Each file has the operations of one noun, as functions of the node. A list is an owned copy that was taken in slices, so that
//! no lock is held for long. A change acts at once and returns a [`Commit`](crate::node::Commit), which resolves when the change
//! is on disk.

pub mod bindings;
mod boot;
mod configured_users;
pub mod connections;
pub mod definitions;
mod error;
pub mod exchanges;
pub mod importing;
mod loading;
pub mod messages;
pub mod parameters;
pub mod policies;
pub mod queues;
mod restoring;
mod taking_back;
mod taking_effect;
pub mod users;
pub mod virtual_hosts;

pub use boot::{BootError, open, reload};
pub use error::Done;
pub use error::OperatorError;
pub use error::erlang;
pub use loading::{QueueName, stored_queues};
pub use taking_back::take_back_what_fails;
