//! `Lock`: mutual exclusion for one atomic exchange per lock and none per unlock.
//!
//! Taking it free costs one `swap`; releasing it is a plain store and, behind an asymmetric fence
//! ([`crate::fence`]), a load that tells whether anybody sleeps. A thread that finds it taken spins
//! briefly, then sleeps on a futex. It is for sections of nanoseconds to a few system calls; nobody
//! may sleep while holding it.
//!
//! ```text
//!   state: 0 free -- swap(1) --> 1 held -- store(0) --> 0
//!   sleeper:  sleepers += 1; heavy fence; loop { swap(1) == 0 ? enter : futex wait while 1 }
//!   releaser: state = 0;     light fence; sleepers != 0 ? futex wake : done
//! ```
//! Either the releaser sees the sleeper counted, or the sleeper's exchange sees the lock free.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};

use crate::fence;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{FutexWord, spin_hint};

const FREE: u32 = 0;
const HELD: u32 = 1;
/// How often a taken lock is looked at before sleeping: about two microseconds.
const SPIN_COUNT: u32 = if cfg!(loom) { 1 } else { 60 };

/// A value that one thread at a time may touch; see the module's description.
#[derive(Debug)]
pub struct Lock<T> {
    state: FutexWord,
    sleepers: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the lock hands out the value to one thread at a time, so sharing the lock needs only
// that the value may move between threads.
unsafe impl<T: Send> Sync for Lock<T> {}
// SAFETY: owning the lock is owning the value.
unsafe impl<T: Send> Send for Lock<T> {}

impl<T> Lock<T> {
    /// A free lock around `value`.
    pub fn new(value: T) -> Self {
        fence::register();
        Lock { state: FutexWord::new(FREE), sleepers: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    /// Takes the lock, waiting for it if need be.
    #[inline]
    pub fn lock(&self) -> LockGuard<'_, T> {
        if self.state.value.swap(HELD, Ordering::Acquire) != FREE {
            self.lock_contended();
        }
        LockGuard { lock: self }
    }

    /// Takes the lock if it is free now.
    pub fn try_lock(&self) -> Option<LockGuard<'_, T>> {
        (self.state.value.swap(HELD, Ordering::Acquire) == FREE).then(|| LockGuard { lock: self })
    }

    #[cold]
    fn lock_contended(&self) {
        for _ in 0..SPIN_COUNT {
            if self.state.value.load(Ordering::Relaxed) == FREE
                && self.state.value.swap(HELD, Ordering::Acquire) == FREE
            {
                return;
            }
            spin_hint();
        }
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        fence::heavy();
        while self.state.value.swap(HELD, Ordering::Acquire) != FREE {
            self.state.wait(HELD);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Access to the value; dropping it releases the lock.
#[derive(Debug)]
pub struct LockGuard<'a, T> {
    lock: &'a Lock<T>,
}

impl<T> Deref for LockGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this guard is the only access to the value while it lives.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for LockGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard is the only access to the value while it lives.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for LockGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        #[cfg(not(loom))]
        self.lock.state.value.store(FREE, Ordering::Release);
        // loom lets a plain store slip into another thread's exchange (tokio-rs/loom#254).
        #[cfg(loom)]
        self.lock.state.value.swap(FREE, Ordering::Release);
        fence::light();
        if self.lock.sleepers.load(Ordering::Relaxed) != 0 {
            self.lock.state.wake_one();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn counts_from_many_threads_add_up() {
        let lock = Arc::new(Lock::new(0u64));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let lock = Arc::clone(&lock);
                std::thread::spawn(move || (0..50_000).for_each(|_| *lock.lock() += 1))
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(*lock.lock(), 200_000);
    }

    #[test]
    fn try_lock_refuses_a_held_lock() {
        let lock = Lock::new(());
        let guard = lock.lock();
        assert!(lock.try_lock().is_none());
        assert!(lock.try_lock().is_none(), "a refusal must not release the lock");
        drop(guard);
        assert!(lock.try_lock().is_some());
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn loom_no_update_is_lost_and_no_sleeper_forgotten() {
        loom::model(|| {
            let lock = Arc::new(Lock::new(0));
            let other = Arc::clone(&lock);
            let thread = loom::thread::spawn(move || *other.lock() += 1);
            *lock.lock() += 1;
            thread.join().unwrap();
            assert_eq!(*lock.lock(), 2);
        });
    }
}
