//! `RingReader`: the reading side of a ring.

use std::mem::MaybeUninit;

use super::words::{RingError, RingMemory, take_wish};
use crate::sync::atomic::{Ordering, fence};

/// The reading side of a ring.
#[derive(Debug)]
pub struct RingReader<M> {
    memory: M,
    /// Bytes taken out so far.
    head: u64,
    /// Bytes put in, as of the last look.
    tail_seen: u64,
    /// The reader has set its word to be rung. Only the writer may have cleared it since.
    asks: bool,
}

impl<M: RingMemory> RingReader<M> {
    /// Creates the reader of a new ring.
    pub fn new(memory: M) -> RingReader<M> {
        RingReader { memory, head: 0, tail_seen: 0, asks: false }
    }

    /// Updates the writer's position. Returns the number of readable bytes.
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

    /// Copies readable bytes to `into`, as many as fit. Returns the number of initialised bytes of `into`. The writer
    /// gets the room after [`RingReader::release`].
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

    /// Gives the room of the taken bytes back. Returns whether the writer has to be rung.
    #[must_use]
    pub fn release(&mut self) -> bool {
        let words = self.memory.words();
        words.head().store(self.head, Ordering::Release);
        fence(Ordering::SeqCst);
        let left = self.tail_seen.wrapping_sub(self.head) as usize;
        left <= self.memory.capacity() / 2 && take_wish(words.writer_waits())
    }

    /// Returns whether there is something to handle: bytes, the end, or an impossible position.
    #[inline]
    pub fn has_news(&self) -> bool {
        let words = self.memory.words();
        words.tail().load(Ordering::Acquire) != self.head || words.ended().load(Ordering::Relaxed) != 0
    }

    /// Returns whether the writer has ended and all of its bytes have been taken.
    pub fn is_over(&mut self) -> Result<bool, RingError> {
        // The order matters: bytes written before the end are visible once the end is.
        Ok(self.memory.words().ended().load(Ordering::Acquire) != 0 && self.look()? == 0)
    }

    /// Asks to be rung when bytes arrive. Returns whether the ring is empty: then the caller waits.
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

    /// Withdraws the request to be rung: the owner polls instead. The writer reads the word at each publication, so
    /// the reader does not write it without need.
    pub fn forgo(&mut self) {
        if std::mem::take(&mut self.asks) {
            self.memory.words().reader_waits().store(0, Ordering::Relaxed);
        }
    }
}
