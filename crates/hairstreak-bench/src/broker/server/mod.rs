//! The brokers under test: RabbitMQ, our node, and the limit, each behind a process of this program that keeps it.
//!
//! ```text
//! benchmark -> Running -> keeper (this program again) -> RabbitMQ | hairstreak serve | the limit, in the keeper itself
//! ```
//!
//! The keeper is in a process group of its own and ends when its standard input does: whatever ends the benchmark, Ctrl-C
//! and a kill among it, ends the broker and removes its directory.

mod descriptors;
mod directory;
mod error;
mod keeper;
mod node;
mod process_use;
mod rabbitmq;
mod running;
mod task;

pub use descriptors::raise_descriptor_limit;
pub use error::ServerError;
pub use keeper::keep;
pub use process_use::ProcessUse;
pub use rabbitmq::{NAME as RABBITMQ_NAME, PROGRAM as RABBITMQ_PROGRAM, is_installed};
pub use running::Running;
pub use task::{ServerKind, ServerTask};
