//! `AppendBuffer`: append-only memory that never moves, on huge pages if requested.
//!
//! On common pages, the first use of each 4 KiB costs a page fault, which takes longer than copying the 4 KiB. A huge
//! page costs one fault for 2 MiB, and uses all of the 2 MiB at the first byte.
//!
//! Invariant: the first `size` bytes are initialised.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::fmt;
use std::ptr::NonNull;

use rustix::mm::{Advice, madvise};

/// The size of a huge page, in bytes.
pub const HUGE_PAGE_SIZE: usize = 2 << 20;
/// Alignment of a buffer on common pages: a cache line.
const ALIGNMENT: usize = 64;

/// Append-only memory of a fixed capacity.
pub struct AppendBuffer {
    start: NonNull<u8>,
    size: usize,
    capacity: usize,
    alignment: usize,
}

// SAFETY: the buffer owns its memory, as a vector does.
unsafe impl Send for AppendBuffer {}
// SAFETY: as above.
unsafe impl Sync for AppendBuffer {}

impl AppendBuffer {
    /// A buffer without memory.
    pub const EMPTY: AppendBuffer =
        AppendBuffer { start: NonNull::dangling(), size: 0, capacity: 0, alignment: ALIGNMENT };

    /// Creates a buffer for `capacity` bytes on common pages.
    pub fn new(capacity: usize) -> AppendBuffer {
        AppendBuffer::with_alignment(capacity, ALIGNMENT)
    }

    /// Creates a buffer for `capacity` bytes, rounded up to huge pages, on huge pages where the system has them.
    pub fn huge(capacity: usize) -> AppendBuffer {
        let buffer = AppendBuffer::with_alignment(capacity.next_multiple_of(HUGE_PAGE_SIZE), HUGE_PAGE_SIZE);
        if !cfg!(miri) && buffer.capacity > 0 {
            // Without huge pages the memory works all the same.
            // SAFETY: the range is this buffer's memory, and the advice changes no bytes.
            let _: rustix::io::Result<()> =
                unsafe { madvise(buffer.start.as_ptr().cast(), buffer.capacity, Advice::LinuxHugepage) };
        }
        buffer
    }

    fn with_alignment(capacity: usize, alignment: usize) -> AppendBuffer {
        if capacity == 0 {
            return AppendBuffer::EMPTY;
        }
        let layout = layout(capacity, alignment);
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        AppendBuffer { start, size: 0, capacity, alignment }
    }

    /// Returns the number of bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.size
    }

    /// Returns whether the buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// Returns the capacity in bytes.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: the first `size` bytes are initialised, and only `append`, which borrows the buffer mutably, writes.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.size) }
    }

    /// Appends bytes.
    ///
    /// # Panics
    ///
    /// If the capacity is too small.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= self.capacity - self.size, "an append buffer is full");
        // SAFETY: the range behind `size` is within the capacity, and no borrow of this memory exists.
        unsafe {
            let end = self.start.as_ptr().add(self.size);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), end, bytes.len());
        }
        self.size += bytes.len();
    }

    /// Drops the bytes. The memory stays.
    pub fn clear(&mut self) {
        self.size = 0;
    }
}

/// Returns the layout of a buffer's memory.
fn layout(capacity: usize, alignment: usize) -> Layout {
    // INVARIANT: the alignment is a power of two, and no capacity comes near the size of the address space.
    Layout::from_size_align(capacity, alignment).expect("a layout for memory that exists")
}

impl Drop for AppendBuffer {
    fn drop(&mut self) {
        if self.capacity > 0 {
            // SAFETY: the memory was allocated with this layout.
            unsafe { dealloc(self.start.as_ptr(), layout(self.capacity, self.alignment)) };
        }
    }
}

impl Default for AppendBuffer {
    fn default() -> AppendBuffer {
        AppendBuffer::EMPTY
    }
}

impl fmt::Debug for AppendBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppendBuffer").field("size", &self.size).field("capacity", &self.capacity).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_appended_and_stay_in_place() {
        for mut buffer in [AppendBuffer::new(10), AppendBuffer::huge(10)] {
            assert!(buffer.is_empty());
            buffer.append(b"hello");
            let start = buffer.as_bytes().as_ptr();
            buffer.append(b"world");
            assert_eq!((buffer.as_bytes(), buffer.len()), (b"helloworld" as &[u8], 10));
            assert_eq!(buffer.as_bytes().as_ptr(), start);
            buffer.clear();
            assert_eq!(buffer.as_bytes(), b"");
        }
        assert_eq!(AppendBuffer::huge(1).capacity(), HUGE_PAGE_SIZE);
        assert_eq!(AppendBuffer::EMPTY.as_bytes(), b"");
        assert_eq!(AppendBuffer::new(0).capacity(), 0);
    }

    #[test]
    fn a_buffer_never_passes_its_capacity() {
        let mut buffer = AppendBuffer::new(4);
        buffer.append(b"1234");
        buffer.append(b"");
        let more = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| buffer.append(b"5")));
        assert!(more.is_err());
        assert_eq!(buffer.as_bytes(), b"1234");
    }
}
