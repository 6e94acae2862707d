//! The controller, the paper's management node: it commands the agents, collects their counts, and shows the results.

mod agent_link;
mod benchmark;
mod cluster;
mod fabric;

pub use benchmark::run;
pub use cluster::{Node, Run};
