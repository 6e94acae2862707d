//! The memory that a thread has allocated and not freed: the memory that a connection keeps.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static HELD_MAX: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(size: isize) {
    // A thread that is ending has no counter, and needs none.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + size);
        let _ = HELD_MAX.try_with(|held_max| held_max.set(held_max.get().max(held.get())));
    });
}

// SAFETY: the system's allocator does everything; the counters allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Bytes that `act` allocated in this thread and did not free, and the peak of these bytes.
pub fn held_by(act: impl FnOnce()) -> (isize, isize) {
    let before = HELD.get();
    HELD_MAX.set(before);
    act();
    (HELD.get() - before, HELD_MAX.get() - before)
}
