//! Security: mechanisms between our own sockets and with libzmq (pyzmq), in both roles, whoever binds; clients
//! that are refused, and peers that attack; addresses that may not connect.

#[path = "../workbench/endpoints.rs"]
mod endpoints;
#[allow(dead_code, reason = "shared with the tests of hostile peers, which use more of it")]
#[path = "../hostile/raw.rs"]
mod raw;
#[allow(dead_code, reason = "shared with the tests against pyzmq, which use more of it")]
#[path = "../interop/script.rs"]
mod script;

mod addresses;
mod hostile;
mod interop;
mod judges;
mod messages;
mod pairs;
mod patterns;
mod refusals;
mod relay;
mod roles;

use std::time::Duration;

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);
