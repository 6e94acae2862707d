//! Threads that share sockets, engines, or nothing but messages: everything arrives once, everybody who
//! waits is woken or times out, and what is closed or dropped elsewhere leaves nothing behind.

#[path = "../workbench/endpoints.rs"]
mod endpoints;
#[path = "../workbench/joined.rs"]
mod joined;
#[path = "../workbench/soak.rs"]
mod soak;

mod both_ways;
mod closing;
mod crowd;
mod exit;
mod hand_over;
mod leading;
mod moving;
mod sharing_an_engine;
mod timing;

use std::time::Duration;

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);
const TRANSPORTS: [&str; 3] = ["tcp", "ipc", "inproc"];
