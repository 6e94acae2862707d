//! Metrics for Prometheus, under RabbitMQ's names, so that its boards and alert rules work.
//!
//! ```text
//!   request -> Selection -> scrape -> blocks of families -> Page, written while it is sent
//! ```
//!
//! Reading order: `family`, `table` (rows of samples), `exposition` (their text), `selection`; the metrics by noun: `queues`, `channels`, `connections`,
//! `exchanges`, `globals`, `node`, `memory`, `identity`; `scrape`, `page`; `service`, [`start`].
//!
//! Nobody counts for metrics alone but for the messages from publishers ([`Received`](crate::node::Received)): all else is what operators
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
mod page;
mod queues;
mod scrape;
mod selection;
mod service;
mod start;
mod state;
mod table;
#[cfg(test)]
mod tests;
mod visit;

pub(crate) use options::Readers;
pub(crate) use start::start;
