//! A global allocator that counts calls, so that a benchmark can state allocations per message.
//!
//! Counting is off until [`start_counting`], and only the separate counting runs turn it on: timed runs pay one
//! relaxed load per allocation. It counts allocations and growths, not frees, of Rust code only (libzmq calls malloc).

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static ALLOCATION_COUNT: AtomicU64 = AtomicU64::new(0);

/// The system allocator, counted.
pub struct CountingAllocator;

/// Counts from here on, in all threads.
pub fn start_counting() {
    IS_COUNTING.store(true, Ordering::Relaxed);
}

/// Allocations since [`start_counting`]; 0 if it was never called.
pub fn count() -> u64 {
    ALLOCATION_COUNT.load(Ordering::Relaxed)
}

fn record() {
    if IS_COUNTING.load(Ordering::Relaxed) {
        ALLOCATION_COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call is passed on unchanged to the system allocator; counting touches two atomics and never allocates.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        record();
        // SAFETY: the caller's contract is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is the system allocator's.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        record();
        // SAFETY: the caller's contract is the system allocator's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        record();
        // SAFETY: the caller's contract is the system allocator's.
        unsafe { System.realloc(block, layout, size) }
    }
}
