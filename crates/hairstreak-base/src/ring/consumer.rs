//! `Consumer`: the side of a ring that takes messages out.

use super::{GRANULE_SIZE, PADDING, Place, SLICE_GRANULES, Shared, WHOLE_GRANULES, short_granules};
use crate::bytes::{Bytes, SHORT, SLICE};
use crate::message::Message;
use crate::sync::Arc;
use crate::sync::atomic::Ordering;

/// The side that takes out.
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

// SAFETY: the place is that of the granules, to which what is said of `Shared` applies.
unsafe impl Send for Consumer {}

impl Consumer {
    pub(super) fn new(shared: Arc<Shared>) -> Consumer {
        let place = Place::of(&shared.granules);
        Consumer { shared, place, head: 0, tail_seen: 0, count: 0, bytes: 0, released: 0 }
    }

    /// Takes the next visible message into `into`; false if there is none. The producer has its room
    /// after [`Consumer::release`].
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

    /// Takes the next message if it is short and has been seen already, and nothing in `into` has to be given up for it.
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
            // Each width for itself: so the processor foretells where the next record starts, and reads it before this
            // one's size has come.
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

    /// Gives the room of everything taken so far back to the producer.
    pub fn release(&mut self) {
        if self.released != self.count {
            self.released = self.count;
            let given = &self.shared.given.0;
            given.count.store(self.count, Ordering::Relaxed);
            given.bytes.store(self.bytes, Ordering::Relaxed);
            given.head.store(self.head, Ordering::Release);
        }
    }

    /// Whether nothing is visible now.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail_seen && self.head == self.shared.tail.0.load(Ordering::Acquire)
    }

    /// How far the producer has published, and this side has taken, in granules: what lies between waits.
    pub fn positions(&self) -> (usize, usize) {
        (self.shared.tail.0.load(Ordering::Acquire), self.head)
    }

    /// Whether all that was visible at the last look is taken.
    pub fn is_drained(&self) -> bool {
        self.head == self.tail_seen
    }

    /// Messages taken since the room was last given back.
    #[inline]
    pub fn unreleased(&self) -> usize {
        self.count - self.released
    }

    /// Messages taken so far.
    #[inline]
    pub fn taken_count(&self) -> usize {
        self.count
    }

    /// Bytes taken so far.
    #[inline]
    pub fn taken_bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the producer is gone; what it published stays to be taken.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        // What was never taken is dropped by whoever goes last: the position tells where it starts. The producer that
        // sees the end sees it, too.
        self.release();
        self.shared.closed.store(true, Ordering::Release);
    }
}
