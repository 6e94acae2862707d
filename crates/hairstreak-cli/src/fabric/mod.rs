//! `hairstreak fabric`: a Data Vortex and its rivals, simulated.
//!
//! - `serve`: the fabric that processes talk through
//! - `study`: the command; `experiments`: the measurements; `jobs`: the work on all cores; `tables`, `charts`: the output
//! - `network`: the networks that are compared

mod arguments;
mod charts;
mod experiments;
mod jobs;
mod network;
mod serve;
mod study;
mod tables;

pub use arguments::{FabricArguments, FabricCommand};
pub use serve::serve;
pub use study::study;
