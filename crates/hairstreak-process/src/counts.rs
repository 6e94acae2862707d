//! `Counts`: how far the work is, for who shows it.

use std::sync::atomic::AtomicU64;

/// Each is added to by one thread and read by others, for people to look at: no order is needed.
#[derive(Debug, Default)]
pub struct Counts {
    /// Records read.
    pub records: AtomicU64,
    /// Bytes read.
    pub bytes: AtomicU64,
    /// Records that have their result, or failed.
    pub done: AtomicU64,
    /// Records that failed.
    pub failed: AtomicU64,
    /// Records that were given to a local command again.
    pub redone: AtomicU64,
    /// Commands that failed though every record they had was answered.
    pub failed_ends: AtomicU64,
    /// The user was told that a command has ended early.
    pub early_ends: AtomicU64,
    /// The user was told that a command could not be started for want of processes or descriptors.
    pub shortages: AtomicU64,
}
