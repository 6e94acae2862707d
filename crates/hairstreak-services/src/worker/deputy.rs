//! `Deputy`: receives for a worker of one thread while its handler takes long, so that a broker that begins anew is told what runs,
//! and the handler that nobody waits any more.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};

use super::receiver::{LOOK_INTERVAL, Receiver};

/// The deputy's thread, which ends when this is dropped.
pub(super) struct Post<'a> {
    pub deputy: &'a Deputy,
    pub thread: &'a Thread,
}

impl Drop for Post<'_> {
    fn drop(&mut self) {
        self.deputy.leave(self.thread);
    }
}

/// Looks in a row that found nobody busy, after which it sleeps until somebody is.
const IDLE_LOOKS_MAX: u32 = 10;

#[derive(Debug, Default)]
pub(super) struct Deputy {
    /// The worker handles something.
    is_busy: AtomicBool,
    /// It has handled something since the last look.
    has_begun: AtomicBool,
    /// The deputy is to be woken.
    sleeps: AtomicBool,
    is_over: AtomicBool,
}

impl Deputy {
    /// The worker is about to handle what has come.
    #[inline]
    pub fn begin(&self, deputy: &Thread) {
        self.has_begun.store(true, Ordering::Relaxed);
        self.is_busy.store(true, Ordering::SeqCst);
        if self.sleeps.load(Ordering::SeqCst) {
            deputy.unpark();
        }
    }

    /// The worker receives by itself again.
    #[inline]
    pub fn end(&self) {
        self.is_busy.store(false, Ordering::Relaxed);
    }

    /// Nothing is handled any more.
    fn leave(&self, deputy: &Thread) {
        self.is_over.store(true, Ordering::SeqCst);
        deputy.unpark();
    }

    /// What the deputy's thread does.
    pub fn run(&self, receiver: &Mutex<Receiver<'_>>) {
        let mut idle_looks = 0;
        while !self.is_over.load(Ordering::SeqCst) {
            let is_busy = self.is_busy.load(Ordering::SeqCst);
            // What has begun since the last look has not taken long yet.
            let is_new = self.has_begun.swap(false, Ordering::Relaxed);
            idle_looks = if is_busy || is_new { 0 } else { idle_looks + 1 };
            if is_busy
                && !is_new
                && let Ok(mut receiver) = receiver.try_lock()
            {
                receiver.step_aside();
            }
            if idle_looks < IDLE_LOOKS_MAX {
                thread::park_timeout(LOOK_INTERVAL);
                continue;
            }
            self.sleeps.store(true, Ordering::SeqCst);
            if !self.is_busy.load(Ordering::SeqCst) && !self.is_over.load(Ordering::SeqCst) {
                thread::park();
            }
            self.sleeps.store(false, Ordering::SeqCst);
            idle_looks = 0;
        }
    }
}
