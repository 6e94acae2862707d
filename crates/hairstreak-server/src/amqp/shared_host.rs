//! `SharedHost`: a virtual host and the outlets of its connections, behind one lock.
//!
//! A connection takes the lock once in each turn of its loop, for all that the turn has read (or for a slice of it, if its messages go to
//! many queues). System calls are made without it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use hairstreak_broker::vhost::{Limits, SegmentPool, VirtualHost};

use parking_lot::{Mutex, MutexGuard};

use super::outlets::Outlets;

/// A virtual host as connections and the timekeeper share it.
pub(super) struct SharedHost {
    state: Mutex<HostState>,
    /// Bytes that the host's messages had in memory when the lock was last released.
    memory_bytes: AtomicUsize,
}

/// The state behind the lock.
pub(super) struct HostState {
    pub host: VirtualHost,
    pub outlets: Outlets,
}

impl SharedHost {
    pub fn new(name: &str, limits: Limits, pool: Arc<SegmentPool>) -> SharedHost {
        let host = VirtualHost::with_pool(name, limits, pool);
        SharedHost {
            state: Mutex::new(HostState { host, outlets: Outlets::new() }),
            memory_bytes: AtomicUsize::new(0),
        }
    }

    /// The state, once nobody else has it. Every caller keeps it for one batch only.
    pub fn lock(&self) -> MutexGuard<'_, HostState> {
        // A thread that panics lets the lock go and reports it. What it leaves is as whole as a panic between two commands leaves it.
        self.state.lock()
    }

    /// Notes how much memory the host's messages have. Returns what they had before.
    pub fn note_memory(&self, bytes: usize) -> usize {
        self.memory_bytes.swap(bytes, Relaxed)
    }
}
