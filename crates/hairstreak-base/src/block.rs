//! `Block`: bytes on the heap with a reference count that is handed out in bulk.
//!
//! A read buffer gives out thousands of slices of one block. Counting each with an atomic would
//! cost as much as the rest of receiving it, so the buffer takes a large credit of references at
//! once, gives them away without touching the count, and returns what is left when it is done.
//!
//! Invariants: the block is freed, or goes back to its pool, when its count reaches zero; bytes that a slice can see are never
//! written again while more references exist than the writer's own.

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use crate::pool::{BlockPool, Class};

/// Bytes past the capacity of every block that may be read (not written): copies of small bodies
/// take a fixed width.
pub(crate) const SLACK: usize = 64;

pub(crate) struct Header {
    references: AtomicUsize,
    /// Where the block goes when nobody refers to it any more, and what it is there.
    home: Option<(Arc<BlockPool>, Class)>,
    storage: Storage,
}

enum Storage {
    /// `capacity + SLACK` bytes, initialised only as far as their writer says.
    Raw(Box<[MaybeUninit<u8>]>),
    /// A vector taken over from the application; no slack.
    Vec(Vec<u8>),
}

/// One or more references to a block. Which, its holder knows; it has no `Drop` for that reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block(NonNull<Header>);

// SAFETY: the header is shared by an atomic count; the bytes follow the module's invariants.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// A block of at least `capacity` bytes, not initialised, with `references` references, and where its
    /// bytes start; a spare one of the pool if there is one.
    pub(crate) fn pooled(pool: &Arc<BlockPool>, capacity: usize, references: usize) -> (Block, NonNull<u8>) {
        let Some(class) = Class::for_size(capacity) else {
            return Block::new(raw(capacity), references, None);
        };
        let home = Some((Arc::clone(pool), class));
        match pool.block(class) {
            Some(mut header) => {
                (*header.references.get_mut(), header.home) = (references, home);
                Block::leak(header)
            }
            None => Block::new(raw(class.size), references, home),
        }
    }

    /// A block that owns the vector, with one reference, and where its bytes start.
    pub(crate) fn from_vec(bytes: Vec<u8>) -> (Block, NonNull<u8>) {
        Block::new(Storage::Vec(bytes), 1, None)
    }

    fn new(
        storage: Storage,
        references: usize,
        home: Option<(Arc<BlockPool>, Class)>,
    ) -> (Block, NonNull<u8>) {
        Block::leak(Box::new(Header { references: AtomicUsize::new(references), home, storage }))
    }

    fn leak(header: Box<Header>) -> (Block, NonNull<u8>) {
        let header = Box::leak(header);
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

    /// Bytes that it has room for.
    pub(crate) fn capacity(self) -> usize {
        match &self.header().storage {
            Storage::Raw(bytes) => bytes.len() - SLACK,
            Storage::Vec(bytes) => bytes.capacity(),
        }
    }

    /// What tells it from the others that are there.
    pub(crate) fn address(self) -> usize {
        self.0.addr().get()
    }

    /// Adds `count` references.
    pub(crate) fn retain(self, count: usize) {
        self.header().references.fetch_add(count, Ordering::Relaxed);
    }

    /// How many references there are.
    pub(crate) fn references(self) -> usize {
        self.header().references.load(Ordering::Acquire)
    }

    /// Gives `count` references back; with the last the block goes home, or is freed.
    ///
    /// # Safety
    /// The caller holds at least `count` references and uses none of them afterwards.
    pub(crate) unsafe fn release(self, count: usize) {
        if self.header().references.fetch_sub(count, Ordering::Release) == count {
            fence(Ordering::Acquire);
            // SAFETY: that was the last reference; the header came out of a box.
            let mut header = unsafe { Box::from_raw(self.0.as_ptr()) };
            if let Some((pool, class)) = header.home.take() {
                pool.give_block(header, class);
            }
        }
    }
}

fn raw(capacity: usize) -> Storage {
    Storage::Raw(Box::new_uninit_slice(capacity + SLACK))
}
