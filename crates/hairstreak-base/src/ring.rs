//! The ring between two engines: single producer, single consumer, bounded, published in batches.
//!
//! A short message lies in the ring as its bytes, several to a cache line. A longer message of one frame lies there
//! as the frame's reference, and any other as the `Message` itself. The producer makes records visible by
//! [`Producer::publish`]. The consumer takes them and returns the room by [`Consumer::release`]. Each side keeps its
//! own position and a copy of the other's: until a side runs out, they share only the records.
//!
//! ```text
//!   granules of 16 bytes; a record starts on one and never wraps:
//!   short    | SHORT | size | up to 62 bytes of body ...                    |   1 to 4 granules
//!   slice    | SLICE | reference, start, size                               |   2 granules
//!   whole    | WHOLE | ...                          | Message (64 bytes)    |   5 granules
//!   padding  | PADDING | to the end of the ring                            |
//! ```
//!
//! The caller wakes a sleeping side: it publishes (or releases), passes a full fence, then checks whether the other
//! side sleeps.

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

/// A value on a cache line of its own (two lines, for the adjacent-line prefetcher).
#[repr(align(128))]
#[derive(Debug)]
struct Line<T>(T);

#[derive(Debug)]
struct Given {
    /// Granules given back so far. Stored last.
    head: AtomicUsize,
    /// Number of messages taken so far, and bytes of their bodies.
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
    /// Cells that loom watches in place of the granules, which it cannot watch.
    #[cfg(loom)]
    watched: Box<[loom::cell::UnsafeCell<()>]>,
}

impl Shared {
    /// Reports a write of these granules to loom.
    #[inline]
    fn note_write(&self, _position: usize, _count: usize) {
        #[cfg(loom)]
        self.each_watched(_position, _count, |granule| granule.with_mut(|_| ()));
    }

    /// Reports a read of these granules to loom.
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

/// Location of the granules. A copy in each side saves two indirections for each record.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: NonNull<u8>,
    /// Capacity in granules; a power of two.
    capacity: usize,
}

impl Place {
    fn of(granules: &[Granule]) -> Place {
        // The pointer covers the whole slice, because a record has several granules.
        Place { start: NonNull::from(granules).cast(), capacity: granules.len() }
    }

    /// Returns the address of the granule at `position`. Each granule is an `UnsafeCell`, so it may be written.
    #[inline]
    fn at(self, position: usize) -> *mut u8 {
        // SAFETY: the masked position is one of the slice's granules.
        unsafe { self.start.as_ptr().add((position & (self.capacity - 1)) * GRANULE_SIZE) }
    }

    /// Returns the number of granules from `position` to the end of the ring.
    #[inline]
    fn to_end(self, position: usize) -> usize {
        self.capacity - (position & (self.capacity - 1))
    }
}

/// Creates a ring with room for `count` messages of any kind.
pub fn ring(count: usize) -> (Producer, Consumer) {
    // One additional record, because padding may use the end of the ring.
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
            // SAFETY: published records lie between the two positions and were not taken; both sides are dropped. The
            // record's kind determines its width.
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

/// Returns the number of granules of a short message.
#[inline]
fn short_granules(size: usize) -> usize {
    (SHORT_HEADER_SIZE + size).div_ceil(GRANULE_SIZE)
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
