//! `Block`: bytes on the heap with a reference count that is handed out in bulk.
//!
//! A read buffer gives out thousands of slices of one block. Counting each with an atomic would
//! cost as much as the rest of receiving it, so the buffer takes a large credit of references at
//! once, gives them away without touching the count, and returns what is left when it is done.
//!
//! Invariants: the block is freed when its count reaches zero; bytes that a slice can see are never
//! written again while more references exist than the writer's own.

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

/// Bytes past the capacity of every block that may be read (not written): copies of small bodies
/// take a fixed width.
pub(crate) const SLACK: usize = 64;

struct Header {
    references: AtomicUsize,
    storage: Storage,
}

enum Storage {
    /// `capacity + SLACK` bytes, initialised only as far as their writer says.
    Raw(Box<[MaybeUninit<u8>]>),
    /// A vector taken over from the application; no slack.
    Vec(Vec<u8>),
}

/// One or more references to a block. Which, its holder knows; it has no `Drop` for that reason.
#[derive(Clone, Copy)]
pub(crate) struct Block(NonNull<Header>);

// SAFETY: the header is shared by an atomic count; the bytes follow the module's invariants.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// A block of `capacity` bytes, not initialised, with `references` references, and where its bytes start.
    pub(crate) fn with_capacity(capacity: usize, references: usize) -> (Block, NonNull<u8>) {
        Block::new(Storage::Raw(Box::new_uninit_slice(capacity + SLACK)), references)
    }

    /// A block that owns the vector, with one reference, and where its bytes start.
    pub(crate) fn from_vec(bytes: Vec<u8>) -> (Block, NonNull<u8>) {
        Block::new(Storage::Vec(bytes), 1)
    }

    fn new(storage: Storage, references: usize) -> (Block, NonNull<u8>) {
        let header = Box::leak(Box::new(Header { references: AtomicUsize::new(references), storage }));
        let start = match &mut header.storage {
            Storage::Raw(bytes) => NonNull::from(&mut **bytes).cast(),
            Storage::Vec(bytes) => NonNull::from(&mut **bytes).cast(),
        };
        (Block(NonNull::from(header)), start)
    }

    fn header(&self) -> &Header {
        // SAFETY: whoever holds a `Block` holds a reference, so the header lives.
        unsafe { self.0.as_ref() }
    }

    /// Adds `count` references.
    pub(crate) fn retain(self, count: usize) {
        self.header().references.fetch_add(count, Ordering::Relaxed);
    }

    /// How many references there are.
    pub(crate) fn references(self) -> usize {
        self.header().references.load(Ordering::Acquire)
    }

    /// Gives `count` references back and frees the block with the last.
    ///
    /// # Safety
    /// The caller holds at least `count` references and uses none of them afterwards.
    pub(crate) unsafe fn release(self, count: usize) {
        if self.header().references.fetch_sub(count, Ordering::Release) == count {
            fence(Ordering::Acquire);
            // SAFETY: that was the last reference; the header came out of a box.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}
