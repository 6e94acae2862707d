//! `hairstreak serve`: the node.
//!
//! - `plan`: what the arguments, the configuration and the environment say together
//! - `command`: starts the node, and waits for signals
//! - `greeting`, `failures`: what the node says

mod command;
mod data;
mod failures;
mod greeting;
mod plan;

pub use command::serve;
