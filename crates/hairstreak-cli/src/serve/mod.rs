//! `hairstreak serve`: the node.
//!
//! - `plan`: the arguments, the configuration and the environment, put together
//! - `command`: starts the node, and waits for signals
//! - `greeting`: the first lines of the node

mod command;
mod greeting;
mod plan;

pub use command::serve;
