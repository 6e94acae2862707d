//! AMQP 0-9-1 on event loops, for RabbitMQ's clients.
//!
//! ```text
//!   client --bytes--> AmqpConnection --commands, one lock for each turn--> VirtualHost (hairstreak-broker)
//!                          ^                                                    |
//!                          +--- takes what waits, when woken --- Outlets <------+ deliveries, encoded once
//! ```
//!
//! Reading order: `node`, `shared_host`, `outlets`, `encoding`; `connection`, `session` and the files they name.

mod alarm_quota;
mod body;
mod channel;
mod confirms;
mod connection;
mod content;
mod declaring;
mod fault;
mod frames;
mod handshake;
mod harness;
mod liveness;
mod memo;
mod methods;
mod parked;
mod parking;
mod product;
mod protocol;
mod publish;
mod publish_once;
mod publishing;
mod reading;
mod run;
mod server;
mod session;
#[cfg(test)]
mod tests;
mod throttle;
mod transaction;
mod turn;

pub use harness::{AmqpHarness, HostFigures};
pub use publish_once::{NotPublished, OneMessage, publish_once};

pub use server::Forgotten;
pub(crate) use server::{AmqpServer, Hooks};
