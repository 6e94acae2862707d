//! Hostile peers: whatever bytes come over a connection, however slowly, and however many connections
//! there are, the process lives, its memory stays bounded, good peers are served all the while, and the
//! statistics tell.
//!
//! Peers are raw streams that write ZMTP by hand. The tests run one at a time, since they look at the
//! memory of the whole process.

#[path = "../workbench/endpoints.rs"]
mod endpoints;
#[path = "../workbench/soak.rs"]
mod soak;

mod arriving;
mod connections;
mod elders;
mod endings;
mod frames;
mod handshakes;
mod limits;
mod memory;
mod mutated;
mod raw;
mod siege;
mod slow;
mod stubborn;
mod subscriptions;
mod traffic;

use std::time::Duration;

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);
