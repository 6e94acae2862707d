//! `LoopOptions`: how many loops there are, and their bounds.

use std::time::Duration;

/// How many loops there are, and their bounds.
#[derive(Clone, Debug)]
pub struct LoopOptions {
    /// Loops, and so threads; at least 1. By default one for each core.
    pub loop_count: usize,
    /// The threads' name, to which the number of the loop is added.
    pub name: String,
    /// Connections of all loops together. A stream beyond the bound is closed as it is accepted.
    pub connections_max: usize,
    /// How long a connection may take until its first byte can be sent: a connect, a TLS handshake, an agreement about
    /// shared memory.
    pub establish_timeout: Duration,
    /// How long a connection that this side closes may take to write what is left.
    pub drain_timeout: Duration,
    /// Reads of one connection in one turn of its loop, 64 KiB each; then the other connections have their turn.
    pub reads_per_turn: usize,
}

impl Default for LoopOptions {
    fn default() -> LoopOptions {
        LoopOptions {
            loop_count: std::thread::available_parallelism().map_or(1, usize::from),
            name: "loop".into(),
            connections_max: 65_536,
            establish_timeout: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(30),
            reads_per_turn: 1,
        }
    }
}
