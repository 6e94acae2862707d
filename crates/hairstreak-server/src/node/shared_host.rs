//! `SharedHost`: a virtual host and the outlets of its connections, behind one lock.
//!
//! A connection takes the lock once in each turn of its loop, for all bytes that the turn has read. If the messages go to many queues, the
//! turn ends before all bytes are handled. No thread makes a system call while it has the lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use hairstreak_broker::vhost::{Limits, SegmentPool, VirtualHost};

use parking_lot::{Mutex, MutexGuard};

use super::outlets::Outlets;

/// A virtual host that connections and the timekeeper share.
pub(crate) struct SharedHost {
    state: Mutex<HostState>,
    /// The memory of the host's messages, in bytes, when the lock was last released.
    memory_bytes: AtomicUsize,
}

/// The state behind the lock.
pub(crate) struct HostState {
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

    /// Takes the lock. Every caller keeps the lock for one batch only.
    pub fn lock(&self) -> MutexGuard<'_, HostState> {
        // A thread that panics reports the panic and releases the lock. The state is then as whole as after a panic between two commands.
        self.state.lock()
    }

    /// Notes the memory of the host's messages. Returns the memory that was noted before.
    pub fn note_memory(&self, bytes: usize) -> usize {
        self.memory_bytes.swap(bytes, Relaxed)
    }
}
