//! Machines behind ROUTER sockets: a [`Desk`] drives one each, in a thread of its own.
//!
//! ```text
//!   ROUTER --- messages, notices of peers ---> Desk ---> Machine: the directory, the broker of services
//!      ^                                                    |
//!      +------------------ SocketOutbox <-------------------+
//! ```
//!
//! Reading order: `desk` (the loop), `machine` (the interface to the machines), `outbox` (the way back), `directory`, `services`.

mod desk;
mod directory;
mod machine;
mod outbox;
mod services;
#[cfg(test)]
mod tests;

pub(crate) use desk::Desk;
pub(crate) use directory::{DirectoryMachine, socket_options as directory_socket_options};
pub(crate) use outbox::{IDLE_HEARTBEAT, SocketOutbox};
pub(crate) use services::{queued_bytes_tight, socket_options as services_socket_options};
