//! The butterfly's five programs, started by hand with a node.

mod host;
mod setups;
mod short_runs;
mod stage;
mod windows;
