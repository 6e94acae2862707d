//! Shared memory between processes: who goes on in it and who does not, peers that die at any moment, peers that
//! write what they want into it, and what it costs.

#[path = "../workbench/endpoints.rs"]
mod endpoints;
#[path = "../workbench/soak.rs"]
mod soak;

mod agreement;
mod deaths;
mod hostile;
mod looking;
mod memory;
mod peer;
mod relay;

use std::time::Duration;

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);
