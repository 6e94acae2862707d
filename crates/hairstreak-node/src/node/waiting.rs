//! `Waiting`: the progress of a log, and the waiters for its positions.

use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

use hairstreak_store::log::Appended;
use hairstreak_transport::event_loop::Address;
use parking_lot::Mutex;

use super::barriers::Barriers;

/// Progress of a log, and the waiters for positions.
#[derive(Default)]
pub struct Waiting {
    /// The last position that may be confirmed.
    synced: AtomicU64,
    barriers: Mutex<Barriers>,
    waiters: Mutex<Vec<(u64, Waiter)>>,
    wake: OnceLock<Box<dyn Fn(Address) + Send + Sync>>,
}

/// Waits for a position of the log.
pub enum Waiter {
    /// A connection, which is woken.
    Connection(Address),
    /// A function, which is called.
    Call(Box<dyn FnOnce() + Send>),
}

impl Waiting {
    /// Waits for a position: `waiter` is served once it may be confirmed.
    pub fn wait(&self, position: u64, waiter: Waiter) {
        self.waiters.lock().push((position, waiter));
        // The position may have been synced meanwhile.
        if self.synced() >= position {
            self.serve();
        }
    }

    /// Sets how connections are woken. Only the first call counts.
    pub fn set_wake(&self, wake: Box<dyn Fn(Address) + Send + Sync>) {
        let _ = self.wake.set(wake);
    }

    /// The last position that may be confirmed.
    #[inline]
    pub fn synced(&self) -> u64 {
        self.synced.load(Acquire)
    }

    /// The last position that is on the medium, confirmed or not.
    #[cfg(test)]
    pub fn log_synced(&self) -> u64 {
        self.barriers.lock().synced()
    }

    /// Appends a batch that waits for definitions, too. Returns also whether no earlier batch waits for the same definitions.
    pub fn append_held(&self, append: impl FnOnce() -> Appended, definitions: u64) -> (Appended, bool) {
        // The log reports no progress in between.
        let mut barriers = self.barriers.lock();
        let appended = append();
        (appended, barriers.hold(appended.position, definitions))
    }

    /// The log has synced all positions up to this one.
    pub fn note_synced(&self, synced: u64) {
        self.follow(|barriers| barriers.note_synced(synced));
    }

    /// Changes the barriers, and serves the waiters whose positions may be confirmed now.
    pub fn follow(&self, change: impl FnOnce(&mut Barriers)) {
        let mut barriers = self.barriers.lock();
        change(&mut barriers);
        self.synced.store(barriers.confirmable(), Release);
        drop(barriers);
        self.serve();
    }

    fn serve(&self) {
        let synced = self.synced();
        let served: Vec<(u64, Waiter)> = {
            let mut waiters = self.waiters.lock();
            waiters.extract_if(.., |(position, _)| *position <= synced).collect()
        };
        for (_, waiter) in served {
            match waiter {
                Waiter::Connection(address) => self.wake.get().into_iter().for_each(|wake| wake(address)),
                Waiter::Call(call) => call(),
            }
        }
    }
}
