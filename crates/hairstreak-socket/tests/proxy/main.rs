//! Proxies: everything passes once and whole, both ways, as fast as the slower side takes it; whoever steers is
//! obeyed.

#[path = "../workbench/endpoints.rs"]
mod endpoints;
#[path = "../workbench/executor.rs"]
mod executor;

mod bridge;
mod capturing;
mod passing;
mod pressure;
mod refusing;
mod steering;
mod tasks;

use std::time::Duration;

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);
const TRANSPORTS: [&str; 3] = ["tcp", "ipc", "inproc"];
