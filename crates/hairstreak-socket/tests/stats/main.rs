//! What a socket says of itself: how long messages wait, how many bytes have crossed, and how fast.

#[path = "../workbench/endpoints.rs"]
mod endpoints;

mod ages;
mod peers;
mod rates;

use std::time::Duration;

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);
