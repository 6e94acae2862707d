//! `hairstreak-bench broker`: our node as an AMQP broker, against RabbitMQ and against a bare limit program.
//!
//! The load generator is near the limit itself: prebuilt frames, writes of 64 KiB, large reads that are walked and not
//! decoded (`client`). All contenders have the same clients, over loopback TCP:
//!
//! - **ours**: `hairstreak serve` from beside this program, or a node that runs already.
//! - **rival**: RabbitMQ as Debian's package has it, started for the run with everything of its own.
//! - **limit**: a process that does the least that a broker must (`limit`).
//!
//! ```text
//! benchmark -> server (a keeper's process for each broker) -> RabbitMQ | node | limit
//!           -> sample -> client (a producer's and a consumer's process for each sample)
//!           -> idle, hostile, restart, paging, beside (a fresh broker each; backlog: messages that are stored)
//!           -> report, conclusion
//! ```

pub(crate) mod amqp;
mod backlog;
mod benchmark;
mod beside;
mod client;
mod conclusion;
mod hostile;
mod idle;
mod limit;
mod paging;
mod plan;
mod report;
mod restart;
mod sample;
pub(crate) mod server;
mod task;
mod timing;

pub use benchmark::run;
pub use client::take_part;
pub use plan::Settings;
pub(crate) use server::RABBITMQ_PROGRAM;
pub use server::keep;
pub(crate) use timing::now_ns;
