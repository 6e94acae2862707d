//! Metrics for Prometheus, under RabbitMQ's names, so that its boards and alert rules work.
//!
//! ```text
//!   request -> Selection -> scrape -> blocks of families -> Page, written while it is sent
//! ```
//!
//! Reading order: `exposition` (families and their text), `table` (rows of samples), `selection`; the metrics by noun: `queues`, `channels`, `connections`,
//! `exchanges`, `globals`, `node`; `scrape`; `service`, [`start`].
//!
//! Metrics read the counters that objects have for operators. Only the messages from publishers are counted for metrics
//! ([`Received`](hairstreak_node::node::Received)).

mod channels;
mod connections;
mod exchanges;
mod exposition;
mod globals;
mod node;
mod queues;
mod scrape;
mod selection;
mod service;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use service::{Readers, start};
