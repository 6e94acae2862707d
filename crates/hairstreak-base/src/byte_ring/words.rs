//! What the two sides of a ring share: its words, and the memory that its owner maps.

use std::mem::MaybeUninit;

use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// On a line of its own (two, for the adjacent-line prefetcher).
#[repr(C, align(128))]
#[derive(Debug, Default)]
struct Line<T>(T);

#[repr(C)]
#[derive(Debug, Default)]
struct Written {
    tail: AtomicU64,
    ended: AtomicU32,
}

/// The words of one ring. All of them 0 is an empty ring; any other content is safe, if no use.
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

/// Takes a side's wish to be rung. Returns whether it had one.
#[inline]
pub(super) fn take_wish(waits: &AtomicU32) -> bool {
    waits.load(Ordering::Relaxed) != 0 && waits.swap(0, Ordering::Relaxed) != 0
}

/// A position that cannot be: the other side does not follow the rules.
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
    /// The ring's words.
    fn words(&self) -> &RingWords;

    /// Bytes that the ring holds.
    fn capacity(&self) -> usize;

    /// Copies `bytes` into the ring, `at` and on. Panics when they do not lie within the capacity.
    fn put(&self, at: usize, bytes: &[u8]);

    /// Copies bytes from `at` and on out of the ring until `into` is full. The other side may write them at the
    /// same time: they are then anything, but what is in `into` stays as it is. Panics as `put` does.
    fn take(&self, at: usize, into: &mut [MaybeUninit<u8>]);
}
