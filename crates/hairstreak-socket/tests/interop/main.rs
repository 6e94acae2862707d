//! Hairstreak's sockets against pyzmq, which is libzmq, and JeroMQ: the same bytes both ways, on either side of
//! every connection. The scripts of the other side stand in tests/python and tests/java.
//!
//! Every wait is bounded by its own time-out, on either side; a side that waits in vain says for what.

#[path = "../workbench/endpoints.rs"]
mod endpoints;
#[allow(dead_code, reason = "shared with the tests of security, which use more of it")]
#[path = "../security/roles.rs"]
mod roles;
#[path = "../workbench/soak.rs"]
mod soak;

mod closing;
mod heartbeats;
mod matrix;
mod notices;
mod options;
mod pipeline;
mod properties;
mod proxy;
mod reconnect;
mod reqrep;
mod script;
mod stream;

use std::time::Duration;

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);
/// Long enough for buffers to move on, if they can.
const PAUSE: Duration = Duration::from_millis(20);
