//! `Deputy`: receives for a worker of one thread while its handler runs long. A broker that connects anew is told the
//! running requests, and the handler learns of cancelled requests.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};

use super::receiver::{LOOK_INTERVAL, Receiver};

/// Guard of the deputy's thread. The thread ends when the guard is dropped.
pub(super) struct Post<'a> {
    pub deputy: &'a Deputy,
    pub thread: &'a Thread,
}

impl Drop for Post<'_> {
    fn drop(&mut self) {
        self.deputy.leave(self.thread);
    }
}

/// Consecutive idle checks after which the deputy sleeps until the worker is busy.
const IDLE_LOOKS_MAX: u32 = 10;

#[derive(Debug, Default)]
pub(super) struct Deputy {
    /// Set while the worker handles requests.
    is_busy: AtomicBool,
    /// Set if the worker began a batch since the last check.
    has_begun: AtomicBool,
    /// Set while the deputy sleeps and has to be woken.
    sleeps: AtomicBool,
    is_over: AtomicBool,
}

impl Deputy {
    /// Notes that the worker is about to handle received requests.
    #[inline]
    pub fn begin(&self, deputy: &Thread) {
        self.has_begun.store(true, Ordering::Relaxed);
        self.is_busy.store(true, Ordering::SeqCst);
        if self.sleeps.load(Ordering::SeqCst) {
            deputy.unpark();
        }
    }

    /// Notes that the worker receives by itself again.
    #[inline]
    pub fn end(&self) {
        self.is_busy.store(false, Ordering::Relaxed);
    }

    /// Ends the deputy.
    fn leave(&self, deputy: &Thread) {
        self.is_over.store(true, Ordering::SeqCst);
        deputy.unpark();
    }

    /// Runs the deputy in its thread.
    pub fn run(&self, receiver: &Mutex<Receiver<'_>>) {
        let mut idle_looks = 0;
        while !self.is_over.load(Ordering::SeqCst) {
            let is_busy = self.is_busy.load(Ordering::SeqCst);
            // A batch that began since the last check has not taken long yet.
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
