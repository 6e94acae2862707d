//! `MeasuredAllocator`: a global allocator that counts the memory in use, for tests that bound memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

static USED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system allocator. A test names it as its `#[global_allocator]`.
#[derive(Debug)]
pub struct MeasuredAllocator;

impl MeasuredAllocator {
    /// Bytes in use by all threads. The peak begins anew.
    pub fn begin() -> usize {
        let used = USED.load(Relaxed);
        PEAK.store(used, Relaxed);
        used
    }

    /// The most bytes in use since [`MeasuredAllocator::begin`].
    pub fn peak() -> usize {
        PEAK.load(Relaxed)
    }
}

// SAFETY: every call is passed on unchanged to the system allocator; measuring touches two atomics and never allocates.
unsafe impl GlobalAlloc for MeasuredAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = USED.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(used, Relaxed);
        // SAFETY: the caller's contract is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's contract is the system allocator's.
        unsafe { System.dealloc(block, layout) }
    }
}
