//! `RingWriter`: the writing side of a ring.

use super::words::{RingError, RingMemory, take_wish};
use crate::sync::atomic::{Ordering, fence};

/// The writing side of a ring.
#[derive(Debug)]
pub struct RingWriter<M> {
    memory: M,
    /// Bytes put in so far, published or not.
    tail: u64,
    /// Bytes taken out, as of the last look.
    head_seen: u64,
}

impl<M: RingMemory> RingWriter<M> {
    /// Creates the writer of a new ring.
    pub fn new(memory: M) -> RingWriter<M> {
        RingWriter { memory, tail: 0, head_seen: 0 }
    }

    fn room(&self) -> usize {
        self.memory.capacity() - self.tail.wrapping_sub(self.head_seen) as usize
    }

    /// Updates the reader's position.
    fn look(&mut self) -> Result<(), RingError> {
        let head = self.memory.words().head().load(Ordering::Acquire);
        let occupied = self.tail.wrapping_sub(self.head_seen);
        if head.wrapping_sub(self.head_seen) > occupied {
            return Err(RingError);
        }
        self.head_seen = head;
        Ok(())
    }

    /// Returns the number of bytes that the reader has not taken, by its own account. Never more than the capacity.
    pub fn unread(&self) -> u64 {
        let head = self.memory.words().head().load(Ordering::Relaxed);
        self.tail.wrapping_sub(head).min(self.memory.capacity() as u64)
    }

    /// Copies as many of the bytes as fit; the reader does not see them yet. Returns their number.
    pub fn put(&mut self, bytes: &[u8]) -> Result<usize, RingError> {
        if self.room() < bytes.len() {
            self.look()?;
        }
        let capacity = self.memory.capacity();
        let count = bytes.len().min(self.room());
        let at = self.tail as usize & (capacity - 1);
        let (first, rest) = bytes[..count].split_at(count.min(capacity - at));
        self.memory.put(at, first);
        if !rest.is_empty() {
            self.memory.put(0, rest);
        }
        self.tail = self.tail.wrapping_add(count as u64);
        Ok(count)
    }

    /// Makes the bytes that were put in visible. Returns whether the reader has to be rung.
    #[must_use]
    pub fn publish(&mut self) -> bool {
        let words = self.memory.words();
        words.tail().store(self.tail, Ordering::Release);
        fence(Ordering::SeqCst);
        take_wish(words.reader_waits())
    }

    /// Ends the ring: no more bytes follow. The reader has to be rung.
    pub fn end(&mut self) {
        self.memory.words().ended().store(1, Ordering::Release);
    }

    /// Asks to be rung when half the ring is free. Returns whether it is not free yet: then the caller waits.
    pub fn await_room(&mut self) -> Result<bool, RingError> {
        self.memory.words().writer_waits().store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.look()?;
        let waits = self.room() < (self.memory.capacity() / 2).max(1);
        if !waits {
            self.memory.words().writer_waits().store(0, Ordering::Relaxed);
        }
        Ok(waits)
    }
}
