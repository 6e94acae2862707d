//! `Space`: the free bytes of the log's file system as they were last seen, and the limit below which space is short.
//!
//! The writer looks before and behind each file that it creates, because files are what takes space. The thread `messages-read`
//! looks on request. While space is short the writer keeps no spare files, makes small segments, and frees dead segments at once.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::storage::StorageBackend;

/// The free space of the log's file system.
#[derive(Debug)]
pub(super) struct Space {
    free_bytes: AtomicU64,
    /// Space is short with fewer free bytes.
    limit: AtomicU64,
}

impl Space {
    /// Space that was never looked at, and has no limit.
    pub fn new() -> Space {
        Space { free_bytes: AtomicU64::new(u64::MAX), limit: AtomicU64::new(0) }
    }

    /// Changes the limit.
    pub fn set_limit(&self, limit: u64) {
        self.limit.store(limit, Relaxed);
    }

    /// Looks at the file system. A failure changes nothing.
    pub fn look(&self, storage: &dyn StorageBackend) {
        if let Ok(free_bytes) = storage.free_bytes() {
            self.free_bytes.store(free_bytes, Relaxed);
        }
    }

    /// Returns the free bytes at the last look.
    pub fn free_bytes(&self) -> u64 {
        self.free_bytes.load(Relaxed)
    }

    /// Returns true if space was short at the last look.
    pub fn is_short(&self) -> bool {
        self.free_bytes() < self.limit.load(Relaxed)
    }
}
