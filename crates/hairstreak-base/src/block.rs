//! `Block`: bytes on the heap with a reference count that is taken in bulk.
//!
//! A read buffer gives out thousands of slices of one block. An atomic operation for each slice would cost as much as
//! the rest of the receive path. The buffer therefore takes a large credit of references at once, and gives them away
//! without touching the count. At the end it returns the unused references.
//!
//! Invariants: the block is freed, or returns to its pool, when its count reaches zero. Bytes visible to a slice are
//! never written while references other than the writer's exist.

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use crate::pool::{BlockPool, Class};

/// Readable (not writable) bytes past the capacity of every block: copies of small bodies have a fixed width.
pub(crate) const SLACK: usize = 64;

pub(crate) struct Header {
    references: AtomicUsize,
    /// The pool that takes the block back after its last reference, and the block's size class there.
    home: Option<(Arc<BlockPool>, Class)>,
    storage: Storage,
}

enum Storage {
    /// `capacity + SLACK` bytes, initialised only as far as their writer says.
    Raw(Box<[MaybeUninit<u8>]>),
    /// A vector taken over from the application, without slack.
    Vec(Vec<u8>),
}

/// One or more references to a block. The holder knows the number, so the type has no `Drop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block(NonNull<Header>);

// SAFETY: the header is shared by an atomic count; the bytes follow the module's invariants.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// Returns a block of at least `capacity` uninitialised bytes with `references` references, and the start of its
    /// bytes. Takes a spare block of the pool if there is one.
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

    /// Returns a block that owns the vector, with one reference, and the start of its bytes.
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
        // SAFETY: the holder of a `Block` holds a reference, so the header lives.
        unsafe { self.0.as_ref() }
    }

    /// Returns the capacity in bytes.
    pub(crate) fn capacity(self) -> usize {
        match &self.header().storage {
            Storage::Raw(bytes) => bytes.len() - SLACK,
            Storage::Vec(bytes) => bytes.capacity(),
        }
    }

    /// Returns the address, which identifies the block among all live blocks.
    pub(crate) fn address(self) -> usize {
        self.0.addr().get()
    }

    /// Adds `count` references.
    pub(crate) fn retain(self, count: usize) {
        self.header().references.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns the number of references.
    pub(crate) fn references(self) -> usize {
        self.header().references.load(Ordering::Acquire)
    }

    /// Gives `count` references back. With the last reference the block returns to its pool, or is freed.
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
