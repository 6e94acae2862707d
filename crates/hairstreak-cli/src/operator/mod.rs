//! The operator's view of a broker, from the command line: commands that speak the management HTTP API of RabbitMQ, which
//! our node has as well. Their names are plural nouns; commands that are clients of AMQP begin with a verb.
//!
//! - `command`: which commands there are
//! - `target`: the API and its user; `secret`: passwords
//! - `client`: requests and answers
//! - `list`: lists as tables and as JSON
//! - `lists`: `exchanges`, `bindings`, `channels` and `consumers`, which only list
//! - `queues`, `connections`, `users`, `permissions`, `vhosts`, `policies`, `definitions`, `peek`: one command each
//! - `message`, `limit`, `setting`: parts that several commands share

mod client;
mod command;
mod connections;
mod definitions;
mod limit;
mod list;
mod lists;
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

pub use command::{OperatorCommand, operate};
pub use secret::ask;
