//! Crowds: hundreds of connections, a thousand in the long form, that come and go. Memory stays bounded, and nothing
//! is left behind.

#[path = "../workbench/endpoints.rs"]
mod endpoints;
#[path = "../hostile/memory.rs"]
mod memory;
#[path = "../workbench/soak.rs"]
mod soak;

mod churn;
mod crowd;

use std::time::Duration;

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);
