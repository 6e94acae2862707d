//! `hairstreak serve`: the node.
//!
//! - `plan`: the settings, from the arguments, the environment and the configuration file
//! - `command`: starts the node, and waits for signals
//! - `greeting`: the first lines of the node

mod command;
mod greeting;
mod plan;

pub use command::serve;
