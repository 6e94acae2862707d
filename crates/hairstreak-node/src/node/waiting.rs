//! `Waiting`: the progress of a log, and those who wait for its positions.

use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use hairstreak_store::log::Progress;
use hairstreak_transport::event_loop::Address;
use parking_lot::Mutex;

/// Progress of a log, and the waiters for positions.
pub struct Waiting {
    /// The effect of a log that cannot be written.
    failure: &'static str,
    synced: AtomicU64,
    is_failing: AtomicBool,
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
    /// `failure`: the effect of a log that cannot be written, for the log of the node.
    pub fn new(failure: &'static str) -> Waiting {
        Waiting {
            failure,
            synced: AtomicU64::new(0),
            is_failing: AtomicBool::new(false),
            waiters: Mutex::default(),
            wake: OnceLock::new(),
        }
    }

    /// Waits for a position: `waiter` is served once it is on the medium.
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

    /// The last position that is on the medium.
    #[inline]
    pub fn synced(&self) -> u64 {
        self.synced.load(Acquire)
    }

    /// Returns true if nothing can be written at present.
    pub fn is_failing(&self) -> bool {
        self.is_failing.load(Relaxed)
    }

    /// Notes the progress of the log, and serves those who waited for it.
    pub fn note(&self, progress: &Progress) {
        self.synced.store(progress.synced, Release);
        let was_failing = self.is_failing.swap(progress.failing.is_some(), Relaxed);
        match &progress.failing {
            Some(error) if !was_failing => log::error!("{}: {error}", self.failure),
            None if was_failing => log::info!("messages are written again"),
            _ => {}
        }
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
