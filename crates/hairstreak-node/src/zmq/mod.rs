//! Machines behind ROUTER sockets: a [`Driver`] drives one each, in a thread of its own.
//!
//! ```text
//!   ROUTER --- messages, notices of peers ---> Driver ---> Machine: the directory, the broker of services
//!      ^                                                    |
//!      +------------------ SocketOutbox <-------------------+
//! ```
//!
//! Reading order: `serving` (sockets and threads), `users` (logins and permissions), `driver` (the loop, and its interface to the
//! machines), `outbox` (the way back), `directory`, `services`.

mod directory;
mod driver;
mod outbox;
mod services;
mod serving;
#[cfg(test)]
mod tests;
mod users;

pub(crate) use serving::{RouterServer, ServingRouter};
pub(crate) use users::Users;
