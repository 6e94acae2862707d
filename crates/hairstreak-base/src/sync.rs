//! The sync shim: atomics, `Arc` and a futex word from std, or loom's models of them under `--cfg loom`. Only code
//! that runs under loom uses it. Also the number of rounds of a test.

#[cfg(not(loom))]
pub use std::sync::{Arc, atomic};

#[cfg(loom)]
pub use loom::sync::{Arc, atomic};

use atomic::AtomicU32;

/// A 32-bit word that threads can sleep on (futex(2); a mutex and a condition variable in loom).
#[derive(Debug)]
pub struct FutexWord {
    /// The word itself.
    pub value: AtomicU32,
    #[cfg(loom)]
    gate: (loom::sync::Mutex<()>, loom::sync::Condvar),
}

impl FutexWord {
    /// Creates a word with `value`.
    #[cfg(not(loom))]
    pub const fn new(value: u32) -> Self {
        FutexWord { value: AtomicU32::new(value) }
    }

    /// Creates a word with `value`.
    #[cfg(loom)]
    pub fn new(value: u32) -> Self {
        FutexWord {
            value: AtomicU32::new(value),
            gate: (loom::sync::Mutex::new(()), loom::sync::Condvar::new()),
        }
    }

    /// Sleeps while the word is `expected`. May also return without cause.
    #[cfg(not(loom))]
    pub fn wait(&self, expected: u32) {
        use rustix::thread::futex;
        // Every outcome (woken, value changed, interrupted) means: look again.
        let _ = futex::wait(&self.value, futex::Flags::PRIVATE, expected, None);
    }

    /// Sleeps while the word is `expected`. May also return without cause.
    #[cfg(loom)]
    pub fn wait(&self, expected: u32) {
        let gate = self.gate.0.lock().unwrap();
        if self.value.load(atomic::Ordering::SeqCst) == expected {
            drop(self.gate.1.wait(gate).unwrap());
        }
    }

    /// Wakes one sleeper.
    #[cfg(not(loom))]
    pub fn wake_one(&self) {
        use rustix::thread::futex;
        let _ = futex::wake(&self.value, futex::Flags::PRIVATE, 1);
    }

    /// Wakes one sleeper.
    #[cfg(loom)]
    pub fn wake_one(&self) {
        let _gate = self.gate.0.lock().unwrap();
        self.gate.1.notify_one();
    }
}

/// Hints to the processor that this is a spin loop (a yield to the scheduler in loom).
#[inline]
pub fn spin_hint() {
    #[cfg(not(loom))]
    std::hint::spin_loop();
    #[cfg(loom)]
    loom::thread::yield_now();
}

/// Returns a token, never 0, that identifies this thread among all live threads.
#[cfg(not(loom))]
#[inline]
pub fn thread_token() -> usize {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}

/// Returns a token, never 0, that identifies this thread among all live threads.
#[cfg(loom)]
pub fn thread_token() -> usize {
    loom::thread_local! {
        static HERE: Box<u8> = Box::new(0);
    }
    HERE.with(|here| std::ptr::from_ref::<u8>(here) as usize)
}

/// Rounds of a test: `count`, or a hundredth of it under Miri, which is some hundred times slower.
#[cfg(all(test, not(loom)))]
pub(crate) const fn rounds(count: usize) -> usize {
    if cfg!(miri) { count.div_ceil(100) } else { count }
}
