//! The ring between two engines: single producer, single consumer, bounded, published in batches.
//!
//! A short message lies in the ring as its bytes, several to a cache line; a longer one of one frame as
//! the frame's reference; any other as the `Message` itself. The producer makes records visible by [`Producer::publish`]; the
//! consumer takes them and gives the room back by [`Consumer::release`]. Each side keeps its own
//! position and a copy of the other's, so that while neither runs out they share only the records.
//!
//! ```text
//!   granules of 16 bytes; a record starts on one and never wraps:
//!   short    | SHORT | size | up to 62 bytes of body ...                    |   1 to 4 granules
//!   slice    | SLICE | reference, start, size                               |   2 granules
//!   whole    | WHOLE | ...                          | Message (64 bytes)    |   5 granules
//!   padding  | PADDING | to the end of the ring                            |
//! ```
//!
//! Waking a sleeping side is the caller's business: publish (or release), then look whether the
//! other side sleeps, a full fence in between.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::copy::copy_short;
use crate::frame::{Frame, INLINE_SIZE_MAX, SHORT, SHORT_HEADER_SIZE, SLICE, SLICE_SIZE};
use crate::lender::Lender;
use crate::message::Message;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const GRANULE_SIZE: usize = 16;
const WHOLE_GRANULES: usize = 1 + size_of::<Message>() / GRANULE_SIZE;
const SLICE_GRANULES: usize = SLICE_SIZE.div_ceil(GRANULE_SIZE);
const WHOLE: u8 = SLICE + 1;
const PADDING: u8 = WHOLE + 1;

#[repr(align(16))]
#[derive(Debug)]
#[expect(dead_code, reason = "records are reached through the slice's address")]
struct Granule(UnsafeCell<MaybeUninit<[u8; GRANULE_SIZE]>>);

/// On a line of its own (two, for the adjacent-line prefetcher).
#[repr(align(128))]
#[derive(Debug)]
struct Line<T>(T);

#[derive(Debug)]
struct Given {
    /// Granules given back so far; stored last.
    head: AtomicUsize,
    /// Messages, and bytes of their bodies, taken so far.
    count: AtomicUsize,
    bytes: AtomicUsize,
}

#[derive(Debug)]
struct Shared {
    /// Granules published so far.
    tail: Line<AtomicUsize>,
    given: Line<Given>,
    closed: AtomicBool,
    granules: Box<[Granule]>,
    /// What loom watches in the place of each granule, which it cannot.
    #[cfg(loom)]
    watched: Box<[loom::cell::UnsafeCell<()>]>,
}

impl Shared {
    /// These granules are written now.
    #[inline]
    fn note_write(&self, _position: usize, _count: usize) {
        #[cfg(loom)]
        self.each_watched(_position, _count, |granule| granule.with_mut(|_| ()));
    }

    /// These granules are read now.
    #[inline]
    fn note_read(&self, _position: usize, _count: usize) {
        #[cfg(loom)]
        self.each_watched(_position, _count, |granule| granule.with(|_| ()));
    }

    #[cfg(loom)]
    fn each_watched(&self, position: usize, count: usize, note: impl Fn(&loom::cell::UnsafeCell<()>)) {
        (position..position + count).for_each(|at| note(&self.watched[at % self.watched.len()]));
    }
}

// SAFETY: a granule is touched by the producer while free and by the consumer while published, never
// by both; the positions that say which are atomics. Messages may move between threads.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

/// Where the granules lie: a copy of it saves each side two steps to a record.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: NonNull<u8>,
    /// In granules; a power of two.
    capacity: usize,
}

impl Place {
    fn of(granules: &[Granule]) -> Place {
        // Through the whole slice: a record is several granules.
        Place { start: NonNull::from(granules).cast(), capacity: granules.len() }
    }

    /// The address of the granule at `position`. Each granule is an `UnsafeCell`, and so may be written.
    #[inline]
    fn at(self, position: usize) -> *mut u8 {
        // SAFETY: the masked position is one of the slice's granules.
        unsafe { self.start.as_ptr().add((position & (self.capacity - 1)) * GRANULE_SIZE) }
    }

    /// Granules from `position` to the end of the ring.
    #[inline]
    fn to_end(self, position: usize) -> usize {
        self.capacity - (position & (self.capacity - 1))
    }
}

/// The side that puts in.
#[derive(Debug)]
pub struct Producer {
    shared: Arc<Shared>,
    place: Place,
    tail: usize,
    head_seen: usize,
    /// Messages put in, published, and seen taken.
    count: usize,
    published: usize,
    taken: usize,
    lender: Lender,
}

/// The side that takes out.
#[derive(Debug)]
pub struct Consumer {
    shared: Arc<Shared>,
    place: Place,
    head: usize,
    tail_seen: usize,
    count: usize,
    bytes: usize,
    /// Messages, and their bytes, taken when room was last given back.
    released: usize,
    released_bytes: usize,
}

// SAFETY: the place is that of the granules, to which what is said of `Shared` applies.
unsafe impl Send for Producer {}
// SAFETY: as above.
unsafe impl Send for Consumer {}

/// A ring with room for `count` messages of any kind.
pub fn ring(count: usize) -> (Producer, Consumer) {
    // One record more at the end may go to padding.
    let capacity = ((count.max(1) + 1) * WHOLE_GRANULES).next_power_of_two();
    let granule = || Granule(UnsafeCell::new(MaybeUninit::uninit()));
    let shared = Arc::new(Shared {
        tail: Line(AtomicUsize::new(0)),
        given: Line(Given {
            head: AtomicUsize::new(0),
            count: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
        }),
        closed: AtomicBool::new(false),
        granules: (0..capacity).map(|_| granule()).collect(),
        #[cfg(loom)]
        watched: (0..capacity).map(|_| loom::cell::UnsafeCell::new(())).collect(),
    });
    let place = Place::of(&shared.granules);
    let producer = Producer {
        shared: Arc::clone(&shared),
        place,
        tail: 0,
        head_seen: 0,
        count: 0,
        published: 0,
        taken: 0,
        lender: Lender::default(),
    };
    let consumer =
        Consumer { shared, place, head: 0, tail_seen: 0, count: 0, bytes: 0, released: 0, released_bytes: 0 };
    (producer, consumer)
}

impl Producer {
    /// Room for a record of `size` granules in one piece; `None` when it is not there.
    #[inline]
    fn reserve(&mut self, size: usize) -> Option<*mut u8> {
        let to_end = self.place.to_end(self.tail);
        if size > to_end || self.place.capacity - (self.tail - self.head_seen) < size {
            return self.reserve_at_length(size, to_end);
        }
        self.shared.note_write(self.tail, size);
        Some(self.place.at(self.tail))
    }

    #[cold]
    fn reserve_at_length(&mut self, size: usize, to_end: usize) -> Option<*mut u8> {
        let needed = if size <= to_end { size } else { to_end + size };
        self.look();
        if self.place.capacity - (self.tail - self.head_seen) < needed {
            return None;
        }
        if size > to_end {
            self.shared.note_write(self.tail, 1);
            // SAFETY: the granule is free.
            unsafe { self.place.at(self.tail).write(PADDING) };
            self.tail += to_end;
        }
        self.shared.note_write(self.tail, size);
        Some(self.place.at(self.tail))
    }

    /// Puts in a message of one short frame, at most [`INLINE_SIZE_MAX`] bytes, not yet visible.
    /// False when there is no room.
    #[inline]
    pub fn push_short(&mut self, body: &[u8]) -> bool {
        assert!(body.len() <= INLINE_SIZE_MAX);
        let size = short_granules(body.len());
        let Some(record) = self.reserve(size) else { return false };
        // SAFETY: `size` granules at `record` are free and not published.
        unsafe {
            record.cast::<[u8; SHORT_HEADER_SIZE]>().write([SHORT, body.len() as u8]);
            copy_short(body, record.add(SHORT_HEADER_SIZE));
        }
        self.tail += size;
        self.count += 1;
        true
    }

    /// Puts in a message of one frame, not yet visible; gives it back when there is no room.
    #[inline]
    pub fn push_frame(&mut self, frame: Frame) -> Result<(), Frame> {
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
    pub fn share_frame(&mut self, frame: &Frame) -> bool {
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
        self.head_seen = given.head.load(Ordering::Acquire);
        self.taken = given.count.load(Ordering::Relaxed);
        (self.occupied(), given.bytes.load(Ordering::Relaxed))
    }

    /// Whether the consumer is gone.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }
}

impl Consumer {
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
        if self.head == self.tail_seen {
            return false;
        }
        let record = self.place.at(self.head);
        // SAFETY: a published record starts here; what follows its kind is as wide as the kind says, and
        // is read once.
        unsafe {
            match record.read() {
                SHORT => {
                    let size = record.add(1).read() as usize;
                    let granules = short_granules(size);
                    let frame = into.single_mut();
                    match granules {
                        1 => frame.set_short::<16>(record),
                        2 => frame.set_short::<32>(record),
                        3 => frame.set_short::<48>(record),
                        _ => frame.set_short::<64>(record),
                    }
                    self.taken(granules, size);
                }
                SLICE => {
                    let frame = Frame::read_slice(record);
                    self.taken(SLICE_GRANULES, frame.size());
                    *into.single_mut() = frame;
                }
                _ => return false,
            }
        }
        true
    }

    #[inline]
    fn taken(&mut self, granules: usize, bytes: usize) {
        self.shared.note_read(self.head, granules);
        self.head += granules;
        self.bytes += bytes;
        self.count += 1;
    }

    /// Gives the room of everything taken so far back to the producer.
    pub fn release(&mut self) {
        if self.released != self.count {
            (self.released, self.released_bytes) = (self.count, self.bytes);
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

    /// Bytes taken so far.
    pub fn taken_bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes taken since the room was last given back.
    pub fn unreleased_bytes(&self) -> usize {
        self.bytes - self.released_bytes
    }

    /// Whether the producer is gone; what it published stays to be taken.
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

impl Drop for Consumer {
    fn drop(&mut self) {
        // What was never taken is dropped by whoever goes last: the position tells where it starts. The producer that
        // sees the end sees it, too.
        self.release();
        self.shared.closed.store(true, Ordering::Release);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let place = Place::of(&self.granules);
        let (mut head, tail) =
            (self.given.0.head.load(Ordering::Acquire), self.tail.0.load(Ordering::Acquire));
        while head != tail {
            let record = place.at(head);
            // SAFETY: published records lie between the two positions and were not taken; both sides are
            // gone. What follows a record's kind is as wide as the kind says.
            head += unsafe {
                match record.read() {
                    SHORT => short_granules(record.add(1).read() as usize),
                    SLICE => {
                        drop(Frame::read_slice(record));
                        SLICE_GRANULES
                    }
                    WHOLE => {
                        record.add(GRANULE_SIZE).cast::<Message>().drop_in_place();
                        WHOLE_GRANULES
                    }
                    _ => place.to_end(head),
                }
            };
        }
    }
}

/// Granules of the record of a short message.
#[inline]
fn short_granules(size: usize) -> usize {
    (SHORT_HEADER_SIZE + size).div_ceil(GRANULE_SIZE)
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
