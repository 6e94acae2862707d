//! Held output: marks in the sequence of bytes. No byte behind a mark leaves until its ticket is released.
//!
//! ```text
//!   written | ready to be written | mark 7: held | mark 9: held      release(7), release(8): up to mark 9
//!                                                                    release(9): all
//! ```
//!
//! The caller chooses the tickets, for example the numbers of a journal's entries: bytes behind a mark promise the
//! content of the entry with that number. Tickets of one buffer grow. Held bytes count as queued, so that limits on
//! the queued bytes apply to them, too.
//!
//! Invariant: no byte behind the first mark has left.

use super::marks::{Mark, Marks};
use super::{Content, OutgoingBuffer, Segment, give_back};

impl OutgoingBuffer {
    /// Holds all bytes appended from now on until a release of `ticket` or a later one. A ticket that is not later
    /// than that of the last mark adds no mark: the next bytes wait long enough already.
    pub fn hold(&mut self, ticket: u64) {
        let position = self.left_bytes + self.queued_bytes() as u64;
        let mark = Mark { ticket, position, accepted_count: self.accepted_count() };
        match &mut self.marks {
            None => self.marks = Some(Box::new(Marks::new(mark))),
            Some(marks) => marks.add(mark),
        }
    }

    /// Releases bytes that wait for `ticket` or an earlier one, up to the mark of the next later ticket.
    pub fn release(&mut self, ticket: u64) {
        if self.marks.as_mut().is_some_and(|marks| !marks.release(ticket)) {
            self.marks = None;
        }
    }

    /// Releases all bytes.
    pub fn release_all(&mut self) {
        self.marks = None;
    }

    /// Returns whether bytes appended now have to wait for a release.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.marks.is_some()
    }

    /// Returns the number of unwritten bytes that may be written: all queued bytes, or those before the first mark.
    #[inline]
    pub fn ready_bytes(&self) -> usize {
        match &self.marks {
            None => self.queued_bytes(),
            Some(marks) => marks.ready_bytes(self.left_bytes),
        }
    }

    /// Inserts a whole message before the held bytes. No byte that may leave is waiting, so the message comes between
    /// two others. The buffer retains nothing.
    pub fn push_before_held(&mut self, message: &[u8]) {
        debug_assert!(self.ready_bytes() == 0 && self.retained.is_none());
        let Some(marks) = &mut self.marks else { return self.push_copy(message, &[], true) };
        marks.shift(message.len());
        let written = std::mem::take(&mut self.written);
        match self.queue.front_mut() {
            None => drop(self.tail.drain(..written)),
            Some(Segment { content: Content::Encoded(bytes), .. }) => {
                bytes.drain(..written);
                self.queue_bytes -= written;
            }
            // A mark lies between two frames, so no part of a body has left.
            Some(_) => debug_assert_eq!(written, 0),
        }
        let content = Content::Encoded(message.to_vec());
        self.queue.push_front(Segment { content, message_count: 1, is_open: false });
        self.queue_bytes += message.len();
        self.queue_count += 1;
    }

    /// Drops the marks and every byte behind the first of them, because the promised events did not happen. Returns
    /// the number of dropped bytes. The buffer retains nothing.
    pub fn discard_held(&mut self) -> usize {
        debug_assert!(self.retained.is_none());
        let held = self.queued_bytes() - self.ready_bytes();
        let Some(first) = self.marks.take().and_then(|marks| marks.first()) else { return 0 };
        let kept_count = first.accepted_count.saturating_sub(self.left_count);
        let cut = held.min(self.tail.len());
        self.tail.truncate(self.tail.len() - cut);
        self.cut_queue(held - cut);
        match self.queue.back_mut() {
            Some(last) if self.tail.is_empty() => {
                last.message_count = (kept_count + last.message_count).saturating_sub(self.queue_count);
                (self.queue_count, self.tail_count) = (kept_count, 0);
            }
            _ => self.tail_count = kept_count.saturating_sub(self.queue_count),
        }
        // A segment whose rest was dropped has been written completely.
        self.advance(0);
        held
    }

    /// Drops the last `size` bytes of the queue.
    fn cut_queue(&mut self, mut size: usize) {
        while size > 0
            && let Some(mut last) = self.queue.pop_back()
        {
            let segment_size = last.bytes().len();
            self.queue_bytes -= segment_size.min(size);
            if segment_size <= size {
                size -= segment_size;
                self.queue_count -= last.message_count;
                give_back(&self.pool, last);
                continue;
            }
            // A mark lies between two frames, so never within a body of its own.
            if let Content::Encoded(bytes) = &mut last.content {
                bytes.truncate(segment_size - size);
            }
            self.queue.push_back(last);
            return;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::bytes::Bytes;
    use crate::pool::BlockPool;

    /// A buffer, the bytes that it must write, and the marks as positions in these bytes.
    struct Model {
        buffer: OutgoingBuffer,
        expected: Vec<u8>,
        got: Vec<u8>,
        marks: Vec<(u64, usize, usize)>,
        message_count: usize,
    }

    impl Model {
        fn new() -> Model {
            let buffer = OutgoingBuffer::new(&BlockPool::new());
            Model { buffer, expected: Vec::new(), got: Vec::new(), marks: Vec::new(), message_count: 0 }
        }

        fn push(&mut self, body: Vec<u8>, is_shared: bool) {
            self.expected.push(7);
            self.expected.extend_from_slice(&body);
            self.message_count += 1;
            match is_shared {
                true => self.buffer.push_shared(&[7], Bytes::from_vec(body), true),
                false => self.buffer.push_copy(&[7], &body, true),
            }
        }

        fn push_before_held(&mut self, message: &[u8]) {
            self.buffer.push_before_held(message);
            let at = self.marks.first().map_or(self.expected.len(), |mark| mark.1);
            self.expected.splice(at..at, message.iter().copied());
            self.message_count += 1;
            for (_, position, count) in &mut self.marks {
                *position += message.len();
                *count += 1;
            }
        }

        fn hold(&mut self, ticket: u64) {
            self.buffer.hold(ticket);
            if self.marks.last().is_none_or(|(last, ..)| *last < ticket) {
                self.marks.push((ticket, self.expected.len(), self.message_count));
            }
        }

        fn release(&mut self, ticket: u64) {
            self.buffer.release(ticket);
            self.marks.retain(|(held, ..)| *held > ticket);
        }

        fn discard(&mut self) {
            let (end, count) =
                self.marks.first().map_or((self.expected.len(), self.message_count), |mark| (mark.1, mark.2));
            assert_eq!(self.buffer.discard_held(), self.expected.len() - end);
            self.expected.truncate(end);
            self.message_count = count;
            self.marks.clear();
        }

        fn write(&mut self, step: usize) -> usize {
            let got = &mut self.got;
            let written = self.buffer.write_with(|slices| {
                assert!(slices.iter().any(|slice| !slice.is_empty()), "a write of nothing");
                let all = slices.iter().map(|slice| &**slice).collect::<Vec<_>>().concat();
                let taken = all.len().min(step);
                got.extend_from_slice(&all[..taken]);
                Ok(taken)
            });
            written.unwrap().0
        }

        fn check(&self, seed: u64) {
            let end = self.marks.first().map_or(self.expected.len(), |mark| mark.1);
            assert!(self.got.len() <= end, "seed {seed}: held bytes have left");
            assert_eq!(self.got, self.expected[..self.got.len()], "seed {seed}");
            let (queued, ready) = (self.expected.len() - self.got.len(), end - self.got.len());
            assert_eq!(
                (self.buffer.queued_bytes(), self.buffer.ready_bytes()),
                (queued, ready),
                "seed {seed}"
            );
            assert_eq!(self.buffer.is_held(), !self.marks.is_empty());
            assert_eq!(self.buffer.accepted_count(), self.message_count, "seed {seed}");
        }
    }

    #[test]
    fn only_bytes_before_the_first_mark_leave_whatever_was_put_in_written_and_dropped() {
        for seed in 0..300 {
            let mut random = fastrand::Rng::with_seed(seed);
            let (mut model, mut ticket) = (Model::new(), 0);
            for _ in 0..300 {
                match random.u8(..11) {
                    10 if model.buffer.ready_bytes() == 0 => model.push_before_held(b"beat"),
                    0 => {
                        ticket += random.u64(..3);
                        model.hold(ticket);
                    }
                    1 => model.release(random.u64(..=ticket)),
                    2 if random.u8(..8) == 0 => model.discard(),
                    3 | 4 => {
                        let step = random.usize(1..100_000);
                        model.write(step);
                    }
                    5 => model.push(vec![random.u8(..); random.usize(1..20_000)], true),
                    _ => model.push(vec![random.u8(..); random.usize(..200)], false),
                }
                model.check(seed);
            }
            model.release(ticket);
            while model.write(usize::MAX) > 0 {}
            model.check(seed);
            assert_eq!(
                (model.got.len(), model.buffer.is_empty()),
                (model.expected.len(), true),
                "seed {seed}"
            );
        }
    }

    #[test]
    fn a_mark_of_a_ticket_that_is_not_later_and_a_mark_at_the_same_place_are_no_marks_of_their_own() {
        let mut buffer = OutgoingBuffer::new(&BlockPool::new());
        buffer.hold(5);
        buffer.hold(7);
        buffer.push_copy(b"a", &[], true);
        buffer.hold(6);
        buffer.push_copy(b"b", &[], true);
        buffer.release(6);
        assert_eq!((buffer.ready_bytes(), buffer.queued_bytes()), (0, 2));
        buffer.release(7);
        assert_eq!((buffer.ready_bytes(), buffer.is_held()), (2, false));
    }

    #[test]
    fn a_release_of_all_and_a_clear_leave_no_mark() {
        let mut buffer = OutgoingBuffer::new(&BlockPool::new());
        buffer.hold(1);
        buffer.push_copy(b"a", &[], true);
        buffer.release_all();
        assert_eq!(buffer.ready_bytes(), 1);
        buffer.hold(2);
        buffer.clear();
        assert!(!buffer.is_held());
    }
}
