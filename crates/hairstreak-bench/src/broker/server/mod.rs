//! The brokers under test: RabbitMQ, our node, and the limit, each behind a process of this program that keeps it.
//!
//! ```text
//! benchmark -> Running -> keeper (this program again) -> RabbitMQ | hairstreak serve | the limit, in the keeper itself
//! ```
//!
//! The keeper is in a process group of its own and ends when its standard input does. Any end of the benchmark, Ctrl-C and a
//! kill included, therefore ends the broker and removes its directory.
//!
//! - `running`: a broker as the benchmark sees it, and its consumption
//! - `keeper`: configuration and start of the brokers, their processes and files

mod keeper;
mod running;

pub use keeper::{RABBITMQ_PROGRAM, SEGMENT, is_installed, keep};
pub use running::{Durable, Loss, Restart, Running, ServerKind, ServerTask};
