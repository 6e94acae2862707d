//! No loss on close: a sender that closes, and whose process ends, while its receiver is behind. What a send
//! accepted arrives, all of it and in order, over every transport.
//!
//! A sending process is this test binary, started again to run `sender::the_sender` alone.

#[path = "../workbench/endpoints.rs"]
mod endpoints;
#[allow(dead_code, reason = "shared with the tests against pyzmq, which use more of it")]
#[path = "../interop/script.rs"]
mod script;
#[path = "../workbench/soak.rs"]
mod soak;
#[allow(dead_code, reason = "shared with the tests against pyzmq, which use more of it")]
#[path = "../interop/stream.rs"]
mod stream;

mod home;
mod receivers;
mod run;
mod sender;

use std::time::Duration;

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);
/// Long enough for buffers to move on, if they can.
const PAUSE: Duration = Duration::from_millis(20);
