//! `SharedHost`: a virtual host and the outlets of its connections, behind one lock.
//!
//! A connection takes the lock once in each turn of its loop, for all bytes that the turn has read. If the messages go to many
//! queues, the turn ends before all bytes are handled. No thread makes a system call while it has the lock. A loop waits for the
//! lock only for a short time: the connections of other hosts go on.
//!
//! A host that is deleted lives until its last connection has left.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hairstreak_broker::vhost::{ConnectionId, Limits, SegmentPool, VirtualHost};
use parking_lot::{Mutex, MutexGuard};

use super::account::Account;
use super::outlets::Outlets;
use super::paging::PageMail;
use super::received::Received;
use super::totals::{Past, Totals};

/// Rows of a table that are copied while the lock is held.
const SLICE_COUNT: usize = 256;

/// A virtual host that connections, operators and the timekeeper share.
pub struct SharedHost {
    name: Box<str>,
    state: Mutex<HostState>,
    account: Arc<Account>,
    /// Requests for the disk that were served.
    pub(super) pages: Arc<PageMail>,
    /// The memory of the host's messages, in bytes, when the lock was last released.
    memory_bytes: AtomicUsize,
    /// The place of the counters of a host that is deleted.
    deleted: OnceLock<Deleted>,
    /// Connections that are over and found the lock taken. The timekeeper lets them leave.
    leaving: Mutex<Vec<ConnectionId>>,
    /// A connection has waited for the lock. The timekeeper then leaves the host to connections for a millisecond.
    is_wanted: AtomicBool,
    /// All connections are to check the alarm. The timekeeper wakes them as soon as it has the lock.
    wakes_all: AtomicBool,
}

/// The place of the counters of a host that is deleted.
struct Deleted {
    past: Arc<Mutex<Past>>,
    number: usize,
}

/// The state behind the lock.
pub struct HostState {
    /// The virtual host.
    pub host: VirtualHost,
    /// The outlets of its connections.
    pub outlets: Outlets,
    /// The messages from publishers.
    pub received: Received,
    /// The last position in the message log that the host has handed records over for.
    pub log_position: u64,
    /// Little memory is left, as the host knows.
    is_low: bool,
}

impl SharedHost {
    /// Returns an empty virtual host with the standard exchanges.
    pub fn new(name: &str, limits: Limits, pool: Arc<SegmentPool>, account: Arc<Account>) -> SharedHost {
        let host = VirtualHost::with_pool(name, limits, pool);
        SharedHost {
            name: name.into(),
            state: Mutex::new(HostState {
                host,
                outlets: Outlets::new(),
                received: Received::default(),
                log_position: 0,
                is_low: false,
            }),
            pages: Arc::new(PageMail::new(Arc::clone(&account))),
            account,
            memory_bytes: AtomicUsize::new(0),
            deleted: OnceLock::new(),
            leaving: Mutex::default(),
            is_wanted: AtomicBool::new(false),
            wakes_all: AtomicBool::new(false),
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes the lock. Every caller keeps the lock for one batch only.
    pub fn lock(&self) -> MutexGuard<'_, HostState> {
        // A thread that panics reports the panic and releases the lock. The state is then as whole as after a panic between two commands.
        self.state.lock()
    }

    /// Takes the lock if that is possible within `patience`, from which the wait is subtracted.
    pub fn lock_within(&self, patience: &mut Duration) -> Option<MutexGuard<'_, HostState>> {
        if let Some(state) = self.state.try_lock() {
            return Some(state);
        }
        if patience.is_zero() {
            return None;
        }
        self.is_wanted.store(true, Relaxed);
        let start = Instant::now();
        let state = self.state.try_lock_for(*patience);
        *patience = patience.saturating_sub(start.elapsed());
        state
    }

    /// Copies some rows of a table, from a cursor on. Returns the next cursor. `list` appends up to the given number of rows to a
    /// vector.
    pub fn slice<T>(
        &self,
        list: impl Fn(&VirtualHost, usize, usize, &mut Vec<T>) -> Option<usize>,
        from: usize,
        rows: &mut Vec<T>,
    ) -> Option<usize> {
        let state = self.lock();
        let next = list(&state.host, from, SLICE_COUNT, rows);
        // A connection that waits for the lock has it next.
        MutexGuard::unlock_fair(state);
        next
    }

    /// Copies a table in slices, so that the lock is never held for long.
    pub fn gather<T>(
        &self,
        list: impl Fn(&VirtualHost, usize, usize, &mut Vec<T>) -> Option<usize>,
    ) -> Vec<T> {
        let (mut rows, mut cursor) = (Vec::new(), Some(0));
        while let Some(from) = cursor {
            cursor = self.slice(&list, from, &mut rows);
        }
        rows
    }

    /// Returns true if a connection has waited for the lock since the last call.
    pub fn take_is_wanted(&self) -> bool {
        self.is_wanted.swap(false, Relaxed)
    }

    /// A connection is over. The timekeeper lets it leave.
    pub fn leave_later(&self, connection: ConnectionId) {
        self.leaving.lock().push(connection);
    }

    /// The connections that are over and have not left.
    pub fn take_leaving(&self) -> Vec<ConnectionId> {
        std::mem::take(&mut *self.leaving.lock())
    }

    /// Makes all connections check the alarm later.
    pub fn wake_all_later(&self) {
        self.wakes_all.store(true, Relaxed);
    }

    /// Returns true if all connections are to check the alarm: once for each call of [`SharedHost::wake_all_later`].
    pub fn take_wakes_all(&self) -> bool {
        self.wakes_all.swap(false, Relaxed)
    }

    /// The counters. Visits each queue.
    pub fn totals(&self) -> Totals {
        self.lock().totals()
    }

    /// Notes that the host is deleted, and leaves its counters to the past.
    pub(super) fn delete(&self, past: &Arc<Mutex<Past>>, locked: &mut Past) {
        let number = locked.begin(self.lock().last_totals());
        // A host is deleted once.
        let _ = self.deleted.set(Deleted { past: Arc::clone(past), number });
    }

    /// Reports the memory of the host's messages to the account. Call it before the lock is released.
    pub fn note_memory(&self, state: &mut HostState) {
        self.tell(state.host.memory_bytes());
        let is_low = self.account.is_low(state.is_low);
        if is_low != state.is_low {
            state.is_low = is_low;
            state.host.write_pages(is_low);
        }
    }

    fn tell(&self, bytes: usize) {
        self.account.note(self.memory_bytes.swap(bytes, Relaxed), bytes);
    }
}

impl Drop for SharedHost {
    fn drop(&mut self) {
        self.tell(0);
        if let Some(Deleted { past, number }) = self.deleted.take() {
            past.lock().end(number, self.state.get_mut().last_totals());
        }
    }
}

impl HostState {
    /// Removes a connection: its unsettled deliveries are returned. Its outlet is removed when the host calls
    /// [`HostOutbox::has_left`](hairstreak_broker::vhost::HostOutbox::has_left).
    pub fn leave(&mut self, connection: ConnectionId, now: u64) {
        self.host.close_connection(connection, now, &mut self.outlets);
    }

    fn totals(&self) -> Totals {
        Totals { stats: self.host.stats(), received: self.received }
    }

    /// The counters of a host that is deleted: its queues are deleted with it.
    fn last_totals(&self) -> Totals {
        let mut totals = self.totals();
        totals.stats.queues_deleted += self.host.queue_count() as u64;
        totals
    }
}
