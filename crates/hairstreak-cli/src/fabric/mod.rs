//! `hairstreak fabric`: a Data Vortex and its rivals, simulated.
//!
//! - `command`: the fabric that processes talk through, and the study
//! - `experiments`: the measurements; `jobs`: the work on all cores; `tables`, `charts`: the output
//! - `network`: the networks that are compared

mod arguments;
mod charts;
mod command;
mod experiments;
mod jobs;
mod network;
mod tables;

pub use arguments::{FabricArguments, FabricCommand};
pub use command::{serve, study};
