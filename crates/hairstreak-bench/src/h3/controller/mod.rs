//! The controller, the paper's management node: it commands the agents, collects what they saw, and shows it.

mod agent_link;
mod benchmark;
mod cluster;
mod error;
mod fabric;
mod host;
mod progress;
mod random;

pub use benchmark::run;
pub use cluster::{Outcome, Run};
pub use error::H3Error;
pub use host::HostRole;
