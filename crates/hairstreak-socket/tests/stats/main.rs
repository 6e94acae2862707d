//! What a socket says of itself: how long messages wait, how many bytes have crossed, and how fast.

#[path = "../workbench/endpoints.rs"]
mod endpoints;

mod ages;
mod peers;
mod rates;

use std::time::{Duration, Instant};

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);

/// Looks again and again until it is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LONG, "{what}: in vain");
        std::thread::yield_now();
    }
}
