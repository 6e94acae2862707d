//! AMQP 0-9-1 on event loops: what RabbitMQ's clients connect to.
//!
//! ```text
//!   client --bytes--> AmqpConnection --commands, one lock for each turn--> VirtualHost (hairstreak-broker)
//!                          ^                                                    |
//!                          +--- takes what waits, when woken --- Outlets <------+ deliveries, encoded once
//! ```
//!
//! Reading order: `node`, `shared_host`, `outlets`, `encoding`; `connection`, `session` and what they name.

mod alarm;
mod body;
mod channel;
mod clock;
mod closing;
mod confirms;
mod connection;
mod consuming;
mod content;
mod declaring;
mod encoding;
mod fault;
mod frames;
mod handshake;
mod harness;
mod liveness;
mod mail;
mod memo;
mod memory;
mod methods;
mod names;
mod node;
mod options;
mod outlets;
mod product;
mod protocol;
mod publish;
mod publishing;
mod reading;
mod server;
mod session;
mod shared_host;
#[cfg(test)]
mod tests;
mod throttle;
mod timekeeper;
mod transaction;
mod tuned;
mod turn;
mod users;

pub use harness::{AmqpHarness, HostFigures};
pub use options::AmqpOptions;
pub use server::Forgotten;
pub(crate) use server::{AmqpServer, Hooks};
pub use users::{PasswordHash, PasswordHashError, User};
