//! `hairstreak serve`: the node.
//!
//! - `plan`: the options from the arguments, the configuration and the environment
//! - `command`: starts the node, and waits for signals
//! - `greeting`: the first lines of the node

mod command;
mod greeting;
mod plan;

pub use command::serve;
