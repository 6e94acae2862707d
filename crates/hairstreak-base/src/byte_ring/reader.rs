//! `RingReader`: the side that takes bytes out.

use std::mem::MaybeUninit;

use super::words::{RingError, RingMemory, take_wish};
use crate::sync::atomic::{Ordering, fence};

/// The reading side of a ring.
#[derive(Debug)]
pub struct RingReader<M> {
    memory: M,
    /// Bytes taken out.
    head: u64,
    /// Bytes put in, when last looked at.
    tail_seen: u64,
    /// The wish to be rung was made, and taken back by nobody but perhaps the writer.
    asks: bool,
}

impl<M: RingMemory> RingReader<M> {
    /// The reader of a ring that is new.
    pub fn new(memory: M) -> RingReader<M> {
        RingReader { memory, head: 0, tail_seen: 0, asks: false }
    }

    /// Looks how far the writer is. Returns how many bytes are there.
    fn look(&mut self) -> Result<usize, RingError> {
        let tail = self.memory.words().tail().load(Ordering::Acquire);
        let available = tail.wrapping_sub(self.head);
        let seen = self.tail_seen.wrapping_sub(self.head);
        if available > self.memory.capacity() as u64 || available < seen {
            return Err(RingError);
        }
        self.tail_seen = tail;
        Ok(available as usize)
    }

    /// Copies as many bytes as are there and `into` has room for. Returns how many of `into` are initialised
    /// now. The writer has the room after [`RingReader::release`].
    pub fn take(&mut self, into: &mut [MaybeUninit<u8>]) -> Result<usize, RingError> {
        let capacity = self.memory.capacity();
        let count = self.look()?.min(into.len());
        let at = self.head as usize & (capacity - 1);
        let (first, rest) = into[..count].split_at_mut(count.min(capacity - at));
        self.memory.take(at, first);
        if !rest.is_empty() {
            self.memory.take(0, rest);
        }
        self.head = self.head.wrapping_add(count as u64);
        Ok(count)
    }

    /// Gives the room of what was taken back. Returns whether the writer is to be rung.
    #[must_use]
    pub fn release(&mut self) -> bool {
        let words = self.memory.words();
        words.head().store(self.head, Ordering::Release);
        fence(Ordering::SeqCst);
        let left = self.tail_seen.wrapping_sub(self.head) as usize;
        left <= self.memory.capacity() / 2 && take_wish(words.writer_waits())
    }

    /// Whether there is something to read, or to be told: bytes, the end, or an impossible position.
    #[inline]
    pub fn has_news(&self) -> bool {
        let words = self.memory.words();
        words.tail().load(Ordering::Acquire) != self.head || words.ended().load(Ordering::Relaxed) != 0
    }

    /// Whether the writer has ended, and all it wrote has been taken.
    pub fn is_over(&mut self) -> Result<bool, RingError> {
        // In this order: what was written before the end is seen behind it.
        Ok(self.memory.words().ended().load(Ordering::Acquire) != 0 && self.look()? == 0)
    }

    /// Asks to be rung when there are bytes. Returns whether there are none yet: then wait.
    pub fn await_bytes(&mut self) -> Result<bool, RingError> {
        self.memory.words().reader_waits().store(1, Ordering::Relaxed);
        self.asks = true;
        fence(Ordering::SeqCst);
        let waits = self.look()? == 0;
        if !waits {
            self.forgo();
        }
        Ok(waits)
    }

    /// Asks no more: the owner looks by itself. The writer looks at the word with each publication, so that it
    /// is not touched without need.
    pub fn forgo(&mut self) {
        if std::mem::take(&mut self.asks) {
            self.memory.words().reader_waits().store(0, Ordering::Relaxed);
        }
    }
}
