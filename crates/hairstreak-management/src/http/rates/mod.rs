//! Rates: the growth of counters, from samples that a sampler takes every few seconds.
//!
//! Totals of the node have a history of a day, single objects one of ten minutes. Reading order: `counters`, `history`, `changes`, `marks`, [`Rates`] (all of
//! them), `sampler`.

mod changes;
mod counters;
mod history;
mod marks;
#[expect(clippy::module_inception, reason = "the type is what the folder is about")]
mod rates;
mod sampler;

pub(crate) use counters::{
    Counted, Counter, Detail, Figure, Figures, Keys, MESSAGE_COUNTER_COUNT, MessageCounts, StatsKind,
    channel_stats, queue_stats,
};
pub(crate) use marks::Row;
pub(crate) use rates::{HOST_COUNTER_COUNT, Rates};
#[cfg(test)]
pub(crate) use sampler::sample;
pub(crate) use sampler::{add_churn, host_figures, host_messages, node_figures, sample_forever};
