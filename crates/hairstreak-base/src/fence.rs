//! The asymmetric fence: a store-load barrier of which one side is free.
//!
//! A thread on a hot path stores, calls [`light`] and loads; a thread about to sleep stores, calls
//! [`heavy`] and loads. At least one of the two then sees the other's store, as with a sequentially
//! consistent fence on both sides. The price is moved to the sleeper: `membarrier(2)` makes every
//! running thread of the process pass a barrier. Where the kernel refuses it (seccomp, Linux before
//! 4.14) and under loom and Miri both sides are ordinary sequentially consistent fences.

#[cfg(not(any(loom, miri)))]
mod imp {
    use std::sync::Once;
    use std::sync::atomic::{AtomicBool, Ordering, compiler_fence, fence};

    use rustix::thread::{MembarrierCommand, membarrier};

    /// Set once, before any [`heavy`] relies on it. A `light` that still reads `false` uses a real
    /// fence, which pairs with either kind of `heavy`.
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    static REGISTER: Once = Once::new();

    /// Registers the process for membarrier(2); cheap when done already.
    pub fn register() {
        REGISTER.call_once(|| {
            let done = membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok();
            REGISTERED.store(done, Ordering::SeqCst);
        });
    }

    /// Whether [`light`] is free.
    pub fn is_asymmetric() -> bool {
        REGISTERED.load(Ordering::Relaxed)
    }

    /// The free side: between the hot path's store and its load.
    #[inline]
    pub fn light() {
        if REGISTERED.load(Ordering::Relaxed) {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    /// As [`light`], for who has found the fence asymmetric before.
    #[inline]
    pub fn free() {
        compiler_fence(Ordering::SeqCst);
    }

    /// The paid side: between the store and the load of a thread about to sleep.
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
