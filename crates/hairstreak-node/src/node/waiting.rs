//! `Waiting`: the progress of a log, and the waiters for its positions.

use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

use hairstreak_store::log::Appended;
use hairstreak_transport::event_loop::Address;
use parking_lot::Mutex;

use super::barriers::Barriers;
use super::reached::{Awaited, Reached};

/// Progress of a log, and the waiters for positions.
#[derive(Default)]
pub struct Waiting {
    /// The last positions that may be confirmed.
    written: AtomicU64,
    synced: AtomicU64,
    barriers: Mutex<Barriers>,
    waiters: Mutex<Vec<(Awaited, Waiter)>>,
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
    pub fn wait(&self, awaited: Awaited, waiter: Waiter) {
        self.waiters.lock().push((awaited, waiter));
        // The log may have reached the position meanwhile.
        if self.reached().has(awaited) {
            self.serve();
        }
    }

    /// Sets how connections are woken. Only the first call counts.
    pub fn set_wake(&self, wake: Box<dyn Fn(Address) + Send + Sync>) {
        let _ = self.wake.set(wake);
    }

    /// The last positions that may be confirmed.
    #[inline]
    pub fn reached(&self) -> Reached {
        Reached { written: self.written.load(Acquire), synced: self.synced.load(Acquire) }
    }

    /// How far the log is, confirmed or not.
    #[cfg(test)]
    pub fn log_reached(&self) -> Reached {
        self.barriers.lock().reached()
    }

    /// Appends a batch that waits for definitions, too. Returns also whether no earlier batch waits for the same definitions.
    pub fn append_held(&self, append: impl FnOnce() -> Appended, definitions: u64) -> (Appended, bool) {
        // The log reports no progress in between.
        let mut barriers = self.barriers.lock();
        let appended = append();
        (appended, barriers.hold(appended.position, definitions))
    }

    /// Notes how far the log is.
    pub fn note(&self, reached: Reached) {
        self.follow(|barriers| barriers.note(reached));
    }

    /// Changes the barriers, and serves the waiters whose positions may be confirmed now.
    pub fn follow(&self, change: impl FnOnce(&mut Barriers)) {
        let mut barriers = self.barriers.lock();
        change(&mut barriers);
        let Reached { written, synced } = barriers.confirmable();
        self.written.store(written, Release);
        self.synced.store(synced, Release);
        drop(barriers);
        self.serve();
    }

    fn serve(&self) {
        let reached = self.reached();
        let served: Vec<(Awaited, Waiter)> = {
            let mut waiters = self.waiters.lock();
            waiters.extract_if(.., |(awaited, _)| reached.has(*awaited)).collect()
        };
        for (_, waiter) in served {
            match waiter {
                Waiter::Connection(address) => self.wake.get().into_iter().for_each(|wake| wake(address)),
                Waiter::Call(call) => call(),
            }
        }
    }
}
