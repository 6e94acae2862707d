//! The operator's view of a broker, from the command line: commands that speak the management HTTP API of RabbitMQ, which
//! our node has as well. Their names are plural nouns; commands that are clients of AMQP begin with a verb.
//!
//! - `command`: which commands there are
//! - `target`: the API and its user; `secret`: passwords; `virtual_host`: the virtual host
//! - `client`: requests and answers
//! - `list`: lists as tables and as JSON
//! - `queues`, `exchanges`, `bindings`, `connections`, `channels`, `consumers`, `users`, `permissions`, `vhosts`,
//!   `policies`, `definitions`, `peek`: one command each
//! - `message`, `limit`, `setting`: parts that several commands share

mod bindings;
mod channels;
mod client;
mod command;
mod connections;
mod consumers;
mod definitions;
mod exchanges;
mod limit;
mod list;
mod message;
mod peek;
mod permissions;
mod policies;
mod queues;
mod secret;
mod setting;
mod target;
mod users;
mod vhosts;
mod virtual_host;

pub use command::{OperatorCommand, operate};
pub use secret::ask;
