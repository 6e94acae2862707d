//! The asymmetric fence: a store-load barrier with one free side.
//!
//! A thread on a hot path stores, calls [`light`] and loads. A thread about to sleep stores, calls [`heavy`] and
//! loads. At least one of the two then sees the other's store, as with a sequentially consistent fence on both sides.
//! The sleeper pays: `membarrier(2)` makes every running thread of the process pass a barrier. Both sides are
//! ordinary sequentially consistent fences where the kernel refuses it (seccomp, Linux before 4.14), and under loom
//! and Miri.

#[cfg(not(any(loom, miri)))]
mod imp {
    use std::sync::Once;
    use std::sync::atomic::{AtomicBool, Ordering, compiler_fence, fence};

    use rustix::thread::{MembarrierCommand, membarrier};

    /// Set once, before any [`heavy`] relies on it. A `light` that still reads `false` uses a real fence, which pairs
    /// with either kind of `heavy`.
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    static REGISTER: Once = Once::new();

    /// Registers the process for membarrier(2). Repeated calls are cheap.
    pub fn register() {
        REGISTER.call_once(|| {
            let done = membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok();
            REGISTERED.store(done, Ordering::SeqCst);
        });
    }

    /// Returns whether [`light`] is free.
    pub fn is_asymmetric() -> bool {
        REGISTERED.load(Ordering::Relaxed)
    }

    /// Free side of the fence, between the hot path's store and its load.
    #[inline]
    pub fn light() {
        if REGISTERED.load(Ordering::Relaxed) {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    /// Like [`light`], for a caller that has found the fence asymmetric before.
    #[inline]
    pub fn free() {
        compiler_fence(Ordering::SeqCst);
    }

    /// Expensive side of the fence, between the store and the load of a thread about to sleep.
    pub fn heavy() {
        register();
        fence(Ordering::SeqCst);
        if REGISTERED.load(Ordering::Relaxed) {
            // INVARIANT: a registered process may always call the expedited barrier.
            membarrier(MembarrierCommand::PrivateExpedited).expect("membarrier after registration");
        }
    }
}

#[cfg(any(loom, miri))]
mod imp {
    use crate::sync::atomic::{Ordering, fence};

    pub fn register() {}

    pub fn is_asymmetric() -> bool {
        true
    }

    pub fn light() {
        fence(Ordering::SeqCst);
    }

    pub fn free() {
        fence(Ordering::SeqCst);
    }

    pub fn heavy() {
        fence(Ordering::SeqCst);
    }
}

pub use imp::{free, heavy, is_asymmetric, light, register};
