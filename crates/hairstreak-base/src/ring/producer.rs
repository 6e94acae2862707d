//! `Producer`: the side of a ring that puts messages in.

use super::{GRANULE_SIZE, PADDING, Place, SLICE_GRANULES, Shared, WHOLE, WHOLE_GRANULES, short_granules};
use crate::bytes::{Bytes, INLINE_SIZE_MAX, SHORT, SHORT_HEADER_SIZE};
use crate::copy::copy_short;
use crate::lender::Lender;
use crate::message::Message;
use crate::sync::Arc;
use crate::sync::atomic::Ordering;

/// The side that puts in.
#[derive(Debug)]
pub struct Producer {
    shared: Arc<Shared>,
    place: Place,
    tail: usize,
    /// How far the granules from the tail on are free, in one piece, as far as was seen.
    room_end: usize,
    /// Messages put in, published, and seen taken.
    count: usize,
    published: usize,
    taken: usize,
    lender: Lender,
}

// SAFETY: the place is that of the granules, to which what is said of `Shared` applies.
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

    /// Room for a record of `size` granules in one piece; `None` when it is not there.
    #[inline(always)]
    fn reserve(&mut self, size: usize) -> Option<*mut u8> {
        if self.room_end - self.tail < size && !self.find_room(size) {
            return None;
        }
        self.shared.note_write(self.tail, size);
        Some(self.place.at(self.tail))
    }

    /// Looks for room, behind padding if need be.
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

    /// Puts in a message of one short frame, at most [`INLINE_SIZE_MAX`] bytes, not yet visible.
    /// False when there is no room.
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

    /// Puts in a message of one frame, not yet visible; gives it back when there is no room.
    #[inline]
    pub fn push_frame(&mut self, frame: Bytes) -> Result<(), Bytes> {
        if !frame.is_shared() {
            return if self.push_short(frame.as_bytes()) { Ok(()) } else { Err(frame) };
        }
        let Some(record) = self.reserve(SLICE_GRANULES) else { return Err(frame) };
        // SAFETY: the record's granules are free and not published; the frame is no short one.
        unsafe { frame.write_slice(record) };
        self.tail += SLICE_GRANULES;
        self.count += 1;
        Ok(())
    }

    /// Puts in a message of one frame, sharing its bytes, not yet visible. False when there is no room.
    #[inline]
    pub fn share_frame(&mut self, frame: &Bytes) -> bool {
        if !frame.is_shared() {
            return self.push_short(frame.as_bytes());
        }
        let Some(record) = self.reserve(SLICE_GRANULES) else { return false };
        // SAFETY: the record's granules are free and not published; the frame is no short one.
        unsafe { self.lender.reference(frame).write_slice(record) };
        self.tail += SLICE_GRANULES;
        self.count += 1;
        true
    }

    /// Puts in a message, not yet visible; gives it back when there is no room.
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

    /// Makes every message put in so far visible.
    #[inline]
    pub fn publish(&mut self) {
        self.published = self.count;
        self.shared.tail.0.store(self.tail, Ordering::Release);
        self.lender.settle();
    }

    /// Messages put in and not yet visible.
    #[inline]
    pub fn unpublished(&self) -> usize {
        self.count - self.published
    }

    /// Messages put in so far.
    pub fn accepted_count(&self) -> usize {
        self.count
    }

    /// Messages put in and not taken, as far as the last look tells: never too few.
    #[inline]
    pub fn occupied(&self) -> usize {
        self.count - self.taken
    }

    /// As [`Producer::occupied`], after a look at the consumer; and the bytes taken out in all.
    pub fn look(&mut self) -> (usize, usize) {
        let given = &self.shared.given.0;
        self.taken = given.count.load(Ordering::Relaxed);
        (self.occupied(), given.bytes.load(Ordering::Relaxed))
    }

    /// Whether the consumer is gone.
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
