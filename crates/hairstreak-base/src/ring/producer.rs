//! `Producer`: the sending side of a ring.

use super::{GRANULE_SIZE, PADDING, Place, SLICE_GRANULES, Shared, WHOLE, WHOLE_GRANULES, short_granules};
use crate::bytes::{Bytes, INLINE_SIZE_MAX, SHORT, SHORT_HEADER_SIZE};
use crate::copy::copy_short;
use crate::lender::Lender;
use crate::message::Message;
use crate::sync::Arc;
use crate::sync::atomic::Ordering;

/// The sending side of a ring.
#[derive(Debug)]
pub struct Producer {
    shared: Arc<Shared>,
    place: Place,
    tail: usize,
    /// End of the contiguous free granules from the tail on, as of the last look.
    room_end: usize,
    /// Messages put in, published, and seen taken.
    count: usize,
    published: usize,
    taken: usize,
    lender: Lender,
}

// SAFETY: the place is that of the granules, for which the argument of `Shared` holds.
unsafe impl Send for Producer {}

impl Producer {
    pub(super) fn new(shared: Arc<Shared>) -> Producer {
        let place = Place::of(&shared.granules);
        Producer {
            shared,
            place,
            tail: 0,
            room_end: place.capacity,
            count: 0,
            published: 0,
            taken: 0,
            lender: Lender::default(),
        }
    }

    /// Reserves contiguous room for a record of `size` granules. Returns `None` if there is no room.
    #[inline(always)]
    fn reserve(&mut self, size: usize) -> Option<*mut u8> {
        if self.room_end - self.tail < size && !self.find_room(size) {
            return None;
        }
        self.shared.note_write(self.tail, size);
        Some(self.place.at(self.tail))
    }

    /// Looks for room, behind padding if necessary.
    #[cold]
    #[inline(never)]
    fn find_room(&mut self, size: usize) -> bool {
        let to_end = self.place.to_end(self.tail);
        let needed = if size <= to_end { size } else { to_end + size };
        let head = self.shared.given.0.head.load(Ordering::Acquire);
        if head + self.place.capacity - self.tail < needed {
            return false;
        }
        if size > to_end {
            self.shared.note_write(self.tail, 1);
            // SAFETY: the granule is free.
            unsafe { self.place.at(self.tail).write(PADDING) };
            self.tail += to_end;
        }
        self.room_end = (head + self.place.capacity).min(self.tail + self.place.to_end(self.tail));
        true
    }

    /// Puts in a message of one short frame, at most [`INLINE_SIZE_MAX`] bytes, not yet visible. Returns false if
    /// there is no room.
    #[inline(always)]
    pub fn push_short(&mut self, body: &[u8]) -> bool {
        assert!(body.len() <= INLINE_SIZE_MAX);
        let size = short_granules(body.len());
        let Some(record) = self.reserve(size) else { return false };
        // SAFETY: `size` granules at `record` are free and not published.
        unsafe {
            record.cast::<u16>().write(u16::from_le_bytes([SHORT, body.len() as u8]));
            copy_short(body, record.add(SHORT_HEADER_SIZE));
        }
        self.tail += size;
        self.count += 1;
        true
    }

    /// Puts in a message of one frame, not yet visible. Returns the frame if there is no room.
    #[inline]
    pub fn push_frame(&mut self, frame: Bytes) -> Result<(), Bytes> {
        if !frame.is_shared() {
            return if self.push_short(frame.as_bytes()) { Ok(()) } else { Err(frame) };
        }
        let Some(record) = self.reserve(SLICE_GRANULES) else { return Err(frame) };
        // SAFETY: the record's granules are free and not published; the frame is not short.
        unsafe { frame.write_slice(record) };
        self.tail += SLICE_GRANULES;
        self.count += 1;
        Ok(())
    }

    /// Puts in a message of one frame, sharing its bytes, not yet visible. Returns false if there is no room.
    #[inline]
    pub fn share_frame(&mut self, frame: &Bytes) -> bool {
        if !frame.is_shared() {
            return self.push_short(frame.as_bytes());
        }
        let Some(record) = self.reserve(SLICE_GRANULES) else { return false };
        // SAFETY: the record's granules are free and not published; the frame is not short.
        unsafe { self.lender.reference(frame).write_slice(record) };
        self.tail += SLICE_GRANULES;
        self.count += 1;
        true
    }

    /// Puts in a message, not yet visible. Returns the message if there is no room.
    pub fn push(&mut self, message: Message) -> Result<(), Message> {
        let message = match message.into_single() {
            Ok(frame) => return self.push_frame(frame).map_err(Message::from),
            Err(message) => message,
        };
        let Some(record) = self.reserve(WHOLE_GRANULES) else { return Err(message) };
        // SAFETY: the record's granules are free and not published; the message's place is aligned to
        // 16 bytes.
        unsafe {
            record.write(WHOLE);
            record.add(GRANULE_SIZE).cast::<Message>().write(message);
        }
        self.tail += WHOLE_GRANULES;
        self.count += 1;
        Ok(())
    }

    /// Makes all messages put in so far visible.
    #[inline]
    pub fn publish(&mut self) {
        self.published = self.count;
        self.shared.tail.0.store(self.tail, Ordering::Release);
        self.lender.settle();
    }

    /// Returns the number of messages not yet visible.
    #[inline]
    pub fn unpublished(&self) -> usize {
        self.count - self.published
    }

    /// Returns the number of messages put in so far.
    pub fn accepted_count(&self) -> usize {
        self.count
    }

    /// Returns the number of messages put in and not taken, as of the last look: never too low.
    #[inline]
    pub fn occupied(&self) -> usize {
        self.count - self.taken
    }

    /// Like [`Producer::occupied`], after a look at the consumer; also returns the total number of bytes taken out.
    pub fn look(&mut self) -> (usize, usize) {
        let given = &self.shared.given.0;
        self.taken = given.count.load(Ordering::Relaxed);
        (self.occupied(), given.bytes.load(Ordering::Relaxed))
    }

    /// Returns whether the consumer is dropped.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.publish();
        self.shared.closed.store(true, Ordering::Release);
    }
}
