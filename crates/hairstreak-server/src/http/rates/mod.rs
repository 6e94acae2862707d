//! Rates: how fast counters grow, from samples that a sampler takes every few seconds.
//!
//! Totals of the node have a history of a day. Single objects have their last two samples, which is enough for a rate. Reading order: [`Range`] (the parameters
//! of a request), [`Detail`] (the answer), [`History`], [`Marks`].

mod detail;
mod history;
mod marks;
mod range;

pub(crate) use detail::Detail;
pub(crate) use history::{History, INTERVAL_MS};
pub(crate) use marks::{Marks, Row};
pub(crate) use range::{Range, Ranges};
