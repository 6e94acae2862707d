//! Counters: what queues, exchanges, channels and the whole virtual host have done. Plain numbers that only grow; whoever
//! shows rates compares two readings.
//!
//! The names are RabbitMQ's, and so is what counts: dead letters are no publishes, and only acknowledgements count as `ack`.

mod channel;
mod deaths;
mod exchange;
mod host;
mod queue;

pub use channel::ChannelStats;
pub use deaths::{DeathStats, Deaths};
pub use exchange::ExchangeStats;
pub use host::HostStats;
pub use queue::QueueStats;
