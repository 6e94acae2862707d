//! `hairstreak-bench fabric`: a Data Vortex beside its equations, its published properties, an omega network and a fat tree.
//!
//! The networks are simulated slot by slot. All rates are packets a port and slot, all times are slots. The same seed gives the
//! same figures on any number of threads.
//!
//! - `network`: the networks, and their figures under some traffic
//! - `benchmark`: the options, and a table for each question
//! - `jobs`: the work on all cores
//! - `charts`: three charts of the tables

mod benchmark;
mod charts;
mod jobs;
mod network;

pub use benchmark::{Settings, run};
