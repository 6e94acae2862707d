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
//! benchmark -> servers -> server (a keeper's process for each broker) -> RabbitMQ | node | limit
//!           -> sample -> processes -> client (a producer's and a consumer's process for each sample)
//!           -> report -> table | JSON
//! ```

pub(crate) mod amqp;
mod benchmark;
mod case;
mod client;
mod conclusion;
mod histogram;
mod hostile;
mod idle;
mod limit;
mod plan;
mod report;
mod sample;
pub(crate) mod server;
mod servers;
mod table;
mod target;
mod task;

pub use benchmark::{BrokerError, run};
pub use case::CaseName;
pub(crate) use client::now_ns;
pub use client::{ClientError, take_part};
pub use server::{RABBITMQ_PROGRAM, ServerError, keep};
