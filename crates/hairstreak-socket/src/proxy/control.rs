//! `ProxyControl`: steering a proxy from other threads.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use super::statistics::ProxyStats;

/// What a proxy is told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Run,
    Pause,
    Terminate,
}

/// Steers a [`Proxy`](super::Proxy), from any thread. What is said before it runs holds when it does.
#[derive(Clone, Debug)]
pub struct ProxyControl(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    wish: AtomicU8,
    statistics: Mutex<ProxyStats>,
    waker: Waker,
}

impl ProxyControl {
    pub(super) fn new(waker: Waker) -> ProxyControl {
        let wish = AtomicU8::new(Wish::Run as u8);
        ProxyControl(Arc::new(Shared { wish, statistics: Mutex::default(), waker }))
    }

    /// Nothing passes until it is resumed. What comes waits, within the marks of the sockets.
    pub fn pause(&self) {
        self.tell(Wish::Pause);
    }

    /// Messages pass again.
    pub fn resume(&self) {
        self.tell(Wish::Run);
    }

    /// Ends the present run, or the next one.
    pub fn terminate(&self) {
        self.tell(Wish::Terminate);
    }

    /// What has passed, as of the end of the last burst.
    pub fn statistics(&self) -> ProxyStats {
        *self.shared_statistics()
    }

    pub(super) fn wish(&self) -> Wish {
        match self.0.wish.load(Ordering::Acquire) {
            pause if pause == Wish::Pause as u8 => Wish::Pause,
            terminate if terminate == Wish::Terminate as u8 => Wish::Terminate,
            _ => Wish::Run,
        }
    }

    pub(super) fn set_wish(&self, wish: Wish) {
        // A run that is to end is not to be paused or resumed instead.
        let next = |before| (before != Wish::Terminate as u8).then_some(wish as u8);
        let _ = self.0.wish.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
    }

    /// The run has ended; another may begin.
    pub(super) fn has_ended(&self) {
        self.0.wish.store(Wish::Run as u8, Ordering::Release);
    }

    pub(super) fn publish(&self, statistics: &ProxyStats) {
        *self.shared_statistics() = *statistics;
    }

    fn tell(&self, wish: Wish) {
        self.set_wish(wish);
        self.0.waker.wake_by_ref();
    }

    fn shared_statistics(&self) -> MutexGuard<'_, ProxyStats> {
        self.0.statistics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
