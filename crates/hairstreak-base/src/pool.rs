//! `BlockPool`: the spare memory of one engine, reused for the next message of the same size.
//!
//! If one thread allocates a block and another frees it, both take the allocator's lock, and the next writer takes a
//! page fault every 4 KiB. For bodies from 64 bytes to a mebibyte this is most of the cost of a message. A block
//! therefore remembers its pool, and returns there from any thread that drops the last reference.
//!
//! Sizes come in steps of a quarter of a power of two: no block is more than a quarter larger than requested. Idle
//! memory is bounded by [`SPARE_BYTES_MAX`]; the holders bound the memory in use.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::block::Header;

/// Limit of the bytes that a pool keeps. Blocks beyond it are freed on return.
pub const SPARE_BYTES_MAX: usize = 4 << 20;
/// The smallest and the largest block that is kept.
const CLASS_SIZE_MIN: usize = 16 * 1024;
const CLASS_SIZE_MAX: usize = 1 << 20;
const STEPS: usize = 4;
const CLASS_COUNT: usize = (CLASS_SIZE_MAX.ilog2() - CLASS_SIZE_MIN.ilog2()) as usize * STEPS + 1;

/// Spare blocks by size, shared by the allocating users and the blocks themselves.
#[derive(Default)]
pub struct BlockPool {
    spare: Mutex<Spare>,
}

#[derive(Default)]
struct Spare {
    #[expect(clippy::vec_box, reason = "a block is known by its address")]
    blocks: [Vec<Box<Header>>; CLASS_COUNT],
    segments: Vec<Vec<u8>>,
    bytes: usize,
    closed: bool,
}

impl BlockPool {
    /// Creates an empty pool.
    pub fn new() -> Arc<BlockPool> {
        Arc::default()
    }

    fn spare(&self) -> MutexGuard<'_, Spare> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a spare block of `class`.
    pub(crate) fn block(&self, class: Class) -> Option<Box<Header>> {
        let mut spare = self.spare();
        let block = spare.blocks[class.index].pop();
        spare.bytes -= if block.is_some() { class.size } else { 0 };
        block
    }

    /// Keeps the block for the next use of its size, if there is room.
    pub(crate) fn give_block(&self, block: Box<Header>, class: Class) {
        let mut spare = self.spare();
        if spare.takes(class.size) {
            spare.blocks[class.index].push(block);
        }
    }

    /// Returns an empty vector with a capacity of `size`, the same at every call.
    pub(crate) fn segment(&self, size: usize) -> Vec<u8> {
        let mut spare = self.spare();
        match spare.segments.pop() {
            Some(segment) => {
                spare.bytes -= segment.capacity();
                segment
            }
            None => {
                drop(spare);
                Vec::with_capacity(size)
            }
        }
    }

    /// Keeps the memory of a segment.
    pub(crate) fn give_segment(&self, mut segment: Vec<u8>) {
        segment.clear();
        let mut spare = self.spare();
        if spare.takes(segment.capacity()) {
            spare.segments.push(segment);
        }
    }

    /// Frees the idle memory.
    pub fn trim(&self) {
        let mut spare = self.spare();
        let closed = spare.closed;
        let idle = std::mem::take(&mut *spare);
        spare.closed = closed;
        drop(spare);
        drop(idle);
    }

    /// Frees the idle memory. Memory that returns later, from messages that outlive their engine, is freed at once.
    pub fn close(&self) {
        self.spare().closed = true;
        self.trim();
    }
}

impl Spare {
    fn takes(&mut self, size: usize) -> bool {
        let takes = !self.closed && self.bytes + size <= SPARE_BYTES_MAX;
        self.bytes += if takes { size } else { 0 };
        takes
    }
}

/// A size class of kept blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    index: usize,
    /// Size in bytes.
    pub size: usize,
}

impl Class {
    /// Returns the smallest class for `size` bytes. `None` for sizes whose blocks are not kept.
    pub fn for_size(size: usize) -> Option<Class> {
        if !(CLASS_SIZE_MIN / 2..=CLASS_SIZE_MAX).contains(&size) {
            return None;
        }
        let size = size.max(CLASS_SIZE_MIN);
        let power = size.ilog2() as usize;
        let step_size = (1 << power) / STEPS;
        let steps = (size - (1 << power)).div_ceil(step_size);
        let index = (power - CLASS_SIZE_MIN.ilog2() as usize) * STEPS + steps;
        Some(Class { index, size: (1 << power) + steps * step_size })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::block::Block;

    #[test]
    fn a_class_is_never_too_small_and_at_most_a_quarter_too_large() {
        for size in (CLASS_SIZE_MIN..=CLASS_SIZE_MAX).step_by(997).chain([CLASS_SIZE_MAX]) {
            let class = Class::for_size(size).unwrap();
            assert!(class.size >= size && class.size <= size + size / 4, "{size}: {class:?}");
            assert!(class.index < CLASS_COUNT);
            assert_eq!(Class::for_size(class.size), Some(class));
        }
        assert_eq!(Class::for_size(CLASS_SIZE_MAX + 1), None);
        assert_eq!(Class::for_size(100), None);
    }

    #[test]
    fn a_block_comes_back_from_another_thread_and_is_used_again() {
        let pool = BlockPool::new();
        let (block, start) = Block::pooled(&pool, 70_000, 1);
        // SAFETY: the only reference.
        std::thread::spawn(move || unsafe { block.release(1) }).join().unwrap();
        let (again, start_again) = Block::pooled(&pool, 72_000, 2);
        assert_eq!(start, start_again);
        assert_eq!(again.references(), 2);
        // SAFETY: both references.
        unsafe { again.release(2) };
    }

    #[test]
    fn what_lies_idle_is_bounded_trimmed_and_gone_with_the_pool() {
        let pool = BlockPool::new();
        let fill = || {
            let blocks: Vec<_> = (0..6).map(|_| Block::pooled(&pool, 1 << 20, 1).0).collect();
            // SAFETY: the only reference of each.
            blocks.into_iter().for_each(|block| unsafe { block.release(1) });
        };
        fill();
        assert_eq!(pool.spare().bytes, SPARE_BYTES_MAX);
        pool.trim();
        assert_eq!(pool.spare().bytes, 0);
        fill();
        pool.close();
        fill();
        assert_eq!(pool.spare().bytes, 0);
        assert_eq!(Arc::strong_count(&pool), 1);
    }
}
