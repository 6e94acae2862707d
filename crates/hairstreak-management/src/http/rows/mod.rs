//! Rows: objects of the node as JSON, with RabbitMQ's keys.
//!
//! A number is there or the key is missing; it is never `null`, which strict readers refuse. Names that are no UTF-8 lose what is none.

mod binding;
mod channel;
mod connection;
mod consumer;
mod counted;
mod exchange;
mod message_stats;
mod properties_key;
mod queue;
mod term_hash;

pub(crate) use binding::BindingRow;
pub(crate) use channel::{ChannelRow, channel_name};
pub(crate) use connection::ConnectionIndex;
pub(crate) use connection::ConnectionRow;
pub(crate) use connection::Owner;
pub(crate) use consumer::ConsumerRow;
pub(crate) use counted::Counted;
pub(crate) use exchange::ExchangeRow;
pub(crate) use message_stats::{Lengths, MessageStats, StatsKind};
pub(crate) use properties_key::{is_named, properties_key, quote_plus};
pub(crate) use queue::timestamp;
pub(crate) use queue::{QueueRow, Shown};
