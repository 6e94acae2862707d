//! `Marks`: the places in a buffer's sequence of bytes behind which no byte leaves.
//!
//! Invariants: tickets and positions of marks grow strictly. A buffer without a mark has no `Marks`, so there is
//! always at least one.

use std::collections::VecDeque;

/// A place in the sequence of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// The bytes behind the mark wait for this ticket.
    pub ticket: u64,
    /// Bytes that were appended before the mark, including those that have left.
    pub position: u64,
    /// Messages that were appended before the mark.
    pub accepted_count: usize,
}

/// The marks of a buffer, oldest first.
pub(super) struct Marks(VecDeque<Mark>);

impl Marks {
    pub fn new(mark: Mark) -> Marks {
        Marks(VecDeque::from([mark]))
    }

    pub fn first(&self) -> Option<Mark> {
        self.0.front().copied()
    }

    /// Adds a mark. If the last mark is at the same place, it waits for the later ticket instead.
    pub fn add(&mut self, mark: Mark) {
        match self.0.back_mut() {
            Some(last) if last.ticket >= mark.ticket => {}
            Some(last) if last.position == mark.position => last.ticket = mark.ticket,
            _ => self.0.push_back(mark),
        }
    }

    /// Shifts the marks by a message of `size` bytes, inserted before the first of them.
    pub fn shift(&mut self, size: usize) {
        for mark in &mut self.0 {
            mark.position += size as u64;
            mark.accepted_count += 1;
        }
    }

    /// Removes the marks of `ticket` and of earlier ones. Returns whether a mark is left.
    pub fn release(&mut self, ticket: u64) -> bool {
        while self.0.front().is_some_and(|mark| mark.ticket <= ticket) {
            self.0.pop_front();
        }
        !self.0.is_empty()
    }

    /// Returns the number of bytes before the first mark that have not left.
    #[cold]
    pub fn ready_bytes(&self, left_bytes: u64) -> usize {
        self.0.front().map_or(0, |mark| mark.position.saturating_sub(left_bytes) as usize)
    }
}
