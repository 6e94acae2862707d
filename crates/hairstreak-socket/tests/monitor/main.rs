//! Monitors: what happens to connections is told, in order, to whoever wants to know; what is not read is lost and
//! counted; nobody else notices.

#[path = "../workbench/endpoints.rs"]
mod endpoints;
#[allow(dead_code, reason = "shared with the tests of async calls, which use more of it")]
#[path = "../workbench/executor.rs"]
mod executor;
#[allow(dead_code, reason = "shared with the tests of security, which use more of it")]
#[path = "../security/roles.rs"]
mod roles;
#[allow(dead_code, reason = "shared with the tests against pyzmq, which use more of it")]
#[path = "../interop/script.rs"]
mod script;

mod connecting;
mod handshakes;
mod peers;
mod reading;
mod refusing;
mod witness;

use std::time::Duration;

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);
