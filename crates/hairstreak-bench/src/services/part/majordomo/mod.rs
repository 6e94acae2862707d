//! A plain Majordomo on libzmq: MDP/0.1 (ZeroMQ RFC 7) as its published description has it, one message at a time, every
//! frame copied as it comes and as it goes.
//!
//! - `entry`: which of the three a process is, and what they have in common
//! - `frames`: what is on the wire
//! - `broker`: services, their workers and the requests that wait
//! - `worker`: one request at a time
//! - `client`: one request at a time over REQ, or many over DEALER

mod broker;
mod client;
mod entry;
mod frames;
mod worker;

pub use entry::take_part;
