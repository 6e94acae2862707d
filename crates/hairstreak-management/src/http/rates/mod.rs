//! Rates: how fast counters grow, from samples that a sampler takes every few seconds.
//!
//! Totals of the node have a history of a day, single objects one of ten minutes. Reading order: [`Range`] (the parameters of a request), [`Detail`] (the
//! answer), `history`, `changes`, `marks`, [`MessageCounts`], [`Rates`] (all of them), `sampler`.

mod changes;
mod detail;
mod figures;
mod history;
mod marks;
mod message_counts;
mod range;
#[expect(clippy::module_inception, reason = "the type is what the folder is about")]
mod rates;
mod sampler;

pub(crate) use detail::Detail;
pub(crate) use figures::{Figure, Figures};
pub(crate) use marks::Row;
pub(crate) use message_counts::{Counter, MESSAGE_COUNTER_COUNT, MessageCounts};
pub(crate) use range::{Range, Ranges};
pub(crate) use rates::{HOST_COUNTER_COUNT, Rates};
#[cfg(test)]
pub(crate) use sampler::sample;
pub(crate) use sampler::{host_figures, host_messages, sample_forever};
