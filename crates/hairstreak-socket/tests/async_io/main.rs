//! Sending and receiving by futures, on an executor of a few lines and on tokio: nothing is lost,
//! doubled or forgotten, whoever else uses the socket or the engine, and whenever a future is dropped.

#[path = "../workbench/endpoints.rs"]
mod endpoints;
#[path = "../workbench/executor.rs"]
mod executor;
#[path = "../workbench/soak.rs"]
mod soak;

mod both;
mod cancelling;
mod company;
mod pairs;
mod streams;
mod tasks;
mod waking;

use std::time::Duration;

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);
const TRANSPORTS: [&str; 3] = ["tcp", "ipc", "inproc"];
