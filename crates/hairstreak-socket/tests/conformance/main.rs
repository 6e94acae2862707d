//! What every pattern promises, written once and run in every cell: over tcp, ipc, shm, vortex and inproc, under every
//! mechanism, with either side binding, and through every form of send and receive.

#[path = "../workbench/endpoints.rs"]
mod endpoints;
#[path = "../workbench/executor.rs"]
mod executor;
#[allow(dead_code, reason = "shared with the tests of security, which use more of it")]
#[path = "../security/roles.rs"]
mod roles;

mod cell;
mod endings;
mod notices;
mod overflow;
mod pair;
mod pipeline;
mod properties;
mod pubsub;
mod reqrep;
mod router;
mod shapes;
mod stream;

use std::time::Duration;

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);
