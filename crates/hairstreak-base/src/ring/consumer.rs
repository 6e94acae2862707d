//! `Consumer`: the receiving side of a ring.

use super::{GRANULE_SIZE, PADDING, Place, SLICE_GRANULES, Shared, WHOLE_GRANULES, short_granules};
use crate::bytes::{Bytes, SHORT, SLICE};
use crate::message::Message;
use crate::sync::Arc;
use crate::sync::atomic::Ordering;

/// The receiving side of a ring.
#[derive(Debug)]
pub struct Consumer {
    shared: Arc<Shared>,
    place: Place,
    head: usize,
    tail_seen: usize,
    count: usize,
    bytes: usize,
    /// Messages taken when room was last given back.
    released: usize,
}

// SAFETY: the place is that of the granules, for which the argument of `Shared` holds.
unsafe impl Send for Consumer {}

impl Consumer {
    pub(super) fn new(shared: Arc<Shared>) -> Consumer {
        let place = Place::of(&shared.granules);
        Consumer { shared, place, head: 0, tail_seen: 0, count: 0, bytes: 0, released: 0 }
    }

    /// Takes the next visible message into `into`. Returns false if there is none. The producer gets the room after
    /// [`Consumer::release`].
    pub fn pop(&mut self, into: &mut Message) -> bool {
        loop {
            if self.head == self.tail_seen {
                self.tail_seen = self.shared.tail.0.load(Ordering::Acquire);
                if self.head == self.tail_seen {
                    return false;
                }
            }
            if self.pop_single(into) {
                return true;
            }
            let record = self.place.at(self.head);
            // SAFETY: a published record starts here.
            if unsafe { record.read() } == PADDING {
                self.shared.note_read(self.head, 1);
                self.head += self.place.to_end(self.head);
                continue;
            }
            // SAFETY: the message was written before it was published and is read once.
            *into = unsafe { record.add(GRANULE_SIZE).cast::<Message>().read() };
            self.taken(WHOLE_GRANULES, into.size());
            return true;
        }
    }

    /// Takes the next message if it has one frame and has been seen already.
    #[inline]
    pub fn pop_single(&mut self, into: &mut Message) -> bool {
        self.pop_short(into) || self.pop_single_at_length(into)
    }

    /// Takes the next message if it is short, has been seen already, and does not replace a value in `into` that
    /// needs a drop.
    #[inline(always)]
    pub fn pop_short(&mut self, into: &mut Message) -> bool {
        if self.head == self.tail_seen {
            return false;
        }
        let record = self.place.at(self.head);
        // SAFETY: a published record starts here; a short one is as wide as its size says.
        unsafe {
            if record.read() != SHORT {
                return false;
            }
            let size = record.add(1).read() as usize;
            let Some(frame) = into.short_mut() else { return false };
            // A separate branch for each width: the processor then predicts the start of the next record, and reads
            // it before the size of this one has arrived.
            match short_granules(size) {
                1 => {
                    frame.set_short::<16>(record);
                    self.taken(1, size);
                }
                2 => {
                    frame.set_short::<32>(record);
                    self.taken(2, size);
                }
                3 => {
                    frame.set_short::<48>(record);
                    self.taken(3, size);
                }
                _ => {
                    frame.set_short::<64>(record);
                    self.taken(4, size);
                }
            }
        }
        true
    }

    #[inline(never)]
    fn pop_single_at_length(&mut self, into: &mut Message) -> bool {
        if self.head == self.tail_seen {
            return false;
        }
        let record = self.place.at(self.head);
        // SAFETY: a published record starts here; what follows its kind is as wide as the kind says, and
        // is read once.
        match unsafe { record.read() } {
            SHORT => {
                *into = Message::new();
                self.pop_short(into)
            }
            SLICE => {
                // SAFETY: as above.
                let frame = unsafe { Bytes::read_slice(record) };
                self.taken(SLICE_GRANULES, frame.size());
                *into.single_mut() = frame;
                true
            }
            _ => false,
        }
    }

    #[inline(always)]
    fn taken(&mut self, granules: usize, bytes: usize) {
        self.shared.note_read(self.head, granules);
        self.head += granules;
        self.bytes += bytes;
        self.count += 1;
    }

    /// Returns the room of all taken messages to the producer.
    pub fn release(&mut self) {
        if self.released != self.count {
            self.released = self.count;
            let given = &self.shared.given.0;
            given.count.store(self.count, Ordering::Relaxed);
            given.bytes.store(self.bytes, Ordering::Relaxed);
            given.head.store(self.head, Ordering::Release);
        }
    }

    /// Returns whether no message is visible now.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail_seen && self.head == self.shared.tail.0.load(Ordering::Acquire)
    }

    /// Returns the producer's published position and this side's position, in granules. The records between them
    /// wait.
    pub fn positions(&self) -> (usize, usize) {
        (self.shared.tail.0.load(Ordering::Acquire), self.head)
    }

    /// Returns whether all messages seen at the last look are taken.
    pub fn is_drained(&self) -> bool {
        self.head == self.tail_seen
    }

    /// Returns the number of messages taken since the room was last given back.
    #[inline]
    pub fn unreleased(&self) -> usize {
        self.count - self.released
    }

    /// Returns the number of messages taken so far.
    #[inline]
    pub fn taken_count(&self) -> usize {
        self.count
    }

    /// Returns the number of bytes taken so far.
    #[inline]
    pub fn taken_bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether the producer is dropped. Its published messages can still be taken.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        // The last side to be dropped drops the remaining messages, from this position on. A producer that sees the
        // end sees the position, too.
        self.release();
        self.shared.closed.store(true, Ordering::Release);
    }
}
