//! Waiting for many sockets, descriptors and times: what is ready is reported as long as it is, whoever drives
//! the engines, and nobody who waits is forgotten.

#[path = "../workbench/endpoints.rs"]
mod endpoints;
#[path = "../workbench/executor.rs"]
mod executor;
#[path = "../workbench/joined.rs"]
mod joined;

mod closing;
mod company;
mod descriptors;
mod finding;
mod readiness;
mod tasks;
mod times;

use std::time::Duration;

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);
const TRANSPORTS: [&str; 3] = ["tcp", "ipc", "inproc"];
