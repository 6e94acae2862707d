//! Metrics for Prometheus, under RabbitMQ's names, so that its boards and alert rules work.
//!
//! ```text
//!   request -> Selection -> scrape -> blocks of families -> Page, written while it is sent
//! ```
//!
//! Reading order: `family`, `table` (rows of samples), `exposition` (their text), `selection`; the metrics by noun: `queues`, `channels`, `connections`,
//! `exchanges`, `globals`, `node`, `memory`, `identity`; `scrape`; `service`, [`start`].
//!
//! Nobody counts for metrics alone but for the messages from publishers ([`Received`](hairstreak_node::node::Received)): all else is what operators
//! see of objects anyway.

mod channels;
mod connections;
mod exchanges;
mod exposition;
mod family;
mod globals;
mod identity;
mod memory;
mod node;
mod options;
mod queues;
mod scrape;
mod selection;
mod service;
mod state;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use options::Readers;
pub(crate) use service::start;
