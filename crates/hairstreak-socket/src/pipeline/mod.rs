//! The pipeline pattern (ZeroMQ RFC 30): PUSH hands each message to one PULL.

mod pull;
mod push;

pub(crate) use pull::RULES as PULL_RULES;
pub use pull::{Pull, PullPattern};
pub(crate) use push::RULES as PUSH_RULES;
pub use push::{Push, PushPattern};
