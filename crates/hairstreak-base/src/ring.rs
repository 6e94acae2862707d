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

mod consumer;
mod producer;

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

pub use self::consumer::Consumer;
pub use self::producer::Producer;
use crate::bytes::{Bytes, SHORT, SHORT_HEADER_SIZE, SLICE, SLICE_SIZE};
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
    (Producer::new(Arc::clone(&shared)), Consumer::new(shared))
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
                        drop(Bytes::read_slice(record));
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
