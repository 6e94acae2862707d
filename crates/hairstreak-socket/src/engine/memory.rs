//! `Memory`: the pool of an engine, and the links that keep memory of the pool while they are busy.
//!
//! A connection at rest owns no memory, and borrowing from the pool takes its lock. So a link that carries messages keeps its read
//! block and its segment until whoever drives the engine is about to sleep, which costs far more than the lock, or until
//! many links do so.

use std::sync::Arc;

use hairstreak_base::BlockPool;
use hairstreak_transport::Connection;
use slab::Slab;

/// So many links keep memory at most when a turn ends: 128 KiB each.
const KEEPING_COUNT_MAX: usize = 64;

/// A link as this module sees it.
pub(crate) trait Carrier {
    /// The link's connection, if it has one.
    fn connection_mut(&mut self) -> Option<&mut Connection>;
}

/// See the module's description.
pub(crate) struct Memory {
    pub pool: Arc<BlockPool>,
    /// Links that keep memory. An index may have become another link's.
    keeping: Vec<usize>,
}

impl Memory {
    pub fn new() -> Memory {
        Memory { pool: BlockPool::new(), keeping: Vec::new() }
    }

    /// The link is about to carry something: it keeps from here on what it borrows.
    #[inline]
    pub fn keep(&mut self, index: usize, connection: &mut Connection) {
        if !connection.input.keep_block() {
            connection.output.keep_tail();
            self.keeping.push(index);
        }
    }

    /// Links that keep memory give it back.
    pub fn rest(&mut self, links: &mut Slab<impl Carrier>) {
        for index in self.keeping.drain(..) {
            if let Some(connection) = links.get_mut(index).and_then(Carrier::connection_mut) {
                connection.input.give_block_back();
                connection.output.give_tail_back();
            }
        }
    }

    /// As [`Memory::rest`], if many links keep memory.
    pub fn rest_if_many(&mut self, links: &mut Slab<impl Carrier>) {
        if self.keeping.len() > KEEPING_COUNT_MAX {
            self.rest(links);
        }
    }
}
