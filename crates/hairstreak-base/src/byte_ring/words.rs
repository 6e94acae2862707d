//! `RingWords` and `RingMemory`: the words of a ring, and the memory that its owner maps. Both sides share them.

use std::mem::MaybeUninit;

use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A value on a cache line of its own (two lines, for the adjacent-line prefetcher).
#[repr(C, align(128))]
#[derive(Debug, Default)]
struct Line<T>(T);

#[repr(C)]
#[derive(Debug, Default)]
struct Written {
    tail: AtomicU64,
    ended: AtomicU32,
}

/// The words of one ring. If all are 0, the ring is empty. Any other content is memory-safe, though useless.
#[repr(C)]
#[derive(Debug, Default)]
pub struct RingWords {
    written: Line<Written>,
    head: Line<AtomicU64>,
    reader_waits: Line<AtomicU32>,
    writer_waits: Line<AtomicU32>,
}

impl RingWords {
    #[inline]
    pub(super) fn tail(&self) -> &AtomicU64 {
        &self.written.0.tail
    }

    #[inline]
    pub(super) fn ended(&self) -> &AtomicU32 {
        &self.written.0.ended
    }

    #[inline]
    pub(super) fn head(&self) -> &AtomicU64 {
        &self.head.0
    }

    #[inline]
    pub(super) fn reader_waits(&self) -> &AtomicU32 {
        &self.reader_waits.0
    }

    #[inline]
    pub(super) fn writer_waits(&self) -> &AtomicU32 {
        &self.writer_waits.0
    }
}

/// Clears a side's request to be rung. Returns whether there was one.
#[inline]
pub(super) fn take_wish(waits: &AtomicU32) -> bool {
    waits.load(Ordering::Relaxed) != 0 && waits.swap(0, Ordering::Relaxed) != 0
}

/// An impossible position: the other side does not follow the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingError;

impl std::fmt::Display for RingError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the peer wrote an impossible position into the shared ring")
    }
}

impl std::error::Error for RingError {}

/// The memory of one ring, as mapped by one side.
///
/// # Safety
/// [`RingMemory::take`] initialises all of `into`, and the capacity is a power of two that never changes.
pub unsafe trait RingMemory {
    /// Returns the ring's words.
    fn words(&self) -> &RingWords;

    /// Returns the capacity in bytes.
    fn capacity(&self) -> usize;

    /// Copies `bytes` into the ring, starting at `at`. Panics if they exceed the capacity.
    fn put(&self, at: usize, bytes: &[u8]);

    /// Copies bytes out of the ring, starting at `at`, until `into` is full. If the other side writes them at the
    /// same time, their values are arbitrary; the bytes in `into` do not change afterwards. Panics as `put` does.
    fn take(&self, at: usize, into: &mut [MaybeUninit<u8>]);
}
