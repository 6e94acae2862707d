//! Crowds: hundreds of connections, a thousand in the long form, that come, go, read slowly or do not read at all.
//! Memory stays bounded, nothing is left behind, and every message is received or counted as dropped.

#[path = "../workbench/endpoints.rs"]
mod endpoints;
#[path = "../hostile/memory.rs"]
mod memory;
#[allow(dead_code, reason = "shared with the tests of hostile peers, which use more of it")]
#[path = "../hostile/raw.rs"]
mod raw;
#[path = "../workbench/soak.rs"]
mod soak;

mod churn;
mod crowd;
mod settled;
mod subscribers;
mod timers;

use std::time::Duration;

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);
