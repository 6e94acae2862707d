//! The pipeline pattern (ZeroMQ RFC 30): PUSH hands each message to one PULL.

mod pull;
mod push;

pub use pull::{Pull, PullPattern};
pub use push::{Push, PushPattern};
