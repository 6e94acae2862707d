//! Rows: objects of the node as JSON, with RabbitMQ's keys.
//!
//! A number is there or the key is missing; it is never `null`, which strict readers refuse. Names that are no UTF-8 lose what is none.

mod binding;
mod channel;
mod connection;
mod connection_index;
mod consumer;
mod counted;
mod exchange;
mod message_stats;
mod owner;
mod properties_key;
mod queue;
mod term_hash;
mod timestamp;

pub(crate) use binding::BindingRow;
pub(crate) use channel::{ChannelRow, channel_name};
pub(crate) use connection::ConnectionRow;
pub(crate) use connection_index::ConnectionIndex;
pub(crate) use consumer::ConsumerRow;
pub(crate) use counted::Counted;
pub(crate) use exchange::ExchangeRow;
pub(crate) use message_stats::{Lengths, MessageStats, StatsKind};
pub(crate) use owner::Owner;
pub(crate) use properties_key::{is_named, properties_key, quote_plus};
pub(crate) use queue::{QueueRow, Shown};
pub(crate) use timestamp::timestamp;
