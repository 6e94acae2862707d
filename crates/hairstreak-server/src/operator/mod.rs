//! The node as its operators see it: what HTTP, metrics and the programs of operators ask for, whatever they speak.
//!
//! Each file has the operations of one noun, as functions of the node. A list is an owned copy that was taken in slices, so that no lock is held for long. A
//! change acts at once and returns a [`Commit`](crate::node::Commit), which resolves when the change is on disk.

pub(crate) mod bindings;
mod boot;
mod configured_users;
pub(crate) mod connections;
pub(crate) mod definitions;
mod erlang;
mod error;
pub(crate) mod exchanges;
pub(crate) mod importing;
pub(crate) mod messages;
pub(crate) mod parameters;
pub(crate) mod policies;
pub(crate) mod queues;
mod restoring;
mod slices;
mod taking_back;
mod taking_effect;
pub(crate) mod users;
pub(crate) mod virtual_hosts;

pub use boot::{BootError, DataPlace};
pub(crate) use boot::{open, reload};
pub(crate) use erlang::erlang;
pub(crate) use error::Done;
pub use error::OperatorError;
pub(crate) use taking_back::take_back_what_fails;
