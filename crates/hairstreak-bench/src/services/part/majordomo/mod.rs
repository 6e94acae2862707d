//! A plain Majordomo on libzmq: MDP/0.1 (ZeroMQ RFC 7) as its published description has it, one message at a time, every
//! frame copied as it comes and as it goes.
//!
//! - `peers`: clients and worker
//! - `broker`: the broker, and the frames of the protocol

mod broker;
mod peers;

pub use broker::run_broker;
pub use peers::{Client, run_worker};
