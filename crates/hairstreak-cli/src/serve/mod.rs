//! `hairstreak serve`: the node.
//!
//! - `plan`: what the arguments, the configuration and the environment say together
//! - `command`: starts the node, and waits for signals
//! - `greeting`: the first lines of the node

mod command;
mod greeting;
mod plan;

pub use command::serve;
