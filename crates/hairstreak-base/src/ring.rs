//! The ring between two engines: single producer, single consumer, bounded, published in batches.
//!
//! A short message lies in the ring as its bytes, several to a cache line; any other as the `Message`
//! itself, its long bodies shared. The producer makes records visible by [`Producer::publish`]; the
//! consumer takes them and gives the room back by [`Consumer::release`]. Each side keeps its own
//! position and a copy of the other's, so that while neither runs out they share only the records.
//!
//! ```text
//!   granules of 16 bytes; a record starts on one and never wraps:
//!   short    | SHORT | size | up to 62 bytes of body ...                    |   1 to 4 granules
//!   whole    | WHOLE | ...                          | Message (64 bytes)    |   5 granules
//!   padding  | PADDING | to the end of the ring                            |
//! ```
//!
//! Waking a sleeping side is the caller's business: publish (or release), then look whether the
//! other side sleeps, a full fence in between.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use crate::copy::copy_short;
use crate::frame::INLINE_SIZE_MAX;
use crate::message::Message;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const GRANULE_SIZE: usize = 16;
const WHOLE_GRANULES: usize = 1 + size_of::<Message>() / GRANULE_SIZE;
const SHORT: u8 = 0;
const WHOLE: u8 = 1;
const PADDING: u8 = 2;

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
}

// SAFETY: a granule is touched by the producer while free and by the consumer while published, never
// by both; the positions that say which are atomics. Messages may move between threads.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Shared {
    /// The address of the granule at `position`, as long as the record there may be.
    fn at(&self, position: usize) -> *mut u8 {
        let index = position & (self.granules.len() - 1);
        // Through the whole slice: a record is several granules.
        UnsafeCell::raw_get(self.granules[index..].as_ptr().cast::<UnsafeCell<u8>>())
    }
}

/// The side that puts in.
#[derive(Debug)]
pub struct Producer {
    shared: Arc<Shared>,
    tail: usize,
    head_seen: usize,
    /// Messages put in, published, and seen taken.
    count: usize,
    published: usize,
    taken: usize,
}

/// The side that takes out.
#[derive(Debug)]
pub struct Consumer {
    shared: Arc<Shared>,
    head: usize,
    tail_seen: usize,
    count: usize,
    bytes: usize,
    /// Messages, and their bytes, taken when room was last given back.
    released: usize,
    released_bytes: usize,
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
    });
    let producer =
        Producer { shared: Arc::clone(&shared), tail: 0, head_seen: 0, count: 0, published: 0, taken: 0 };
    (producer, Consumer { shared, head: 0, tail_seen: 0, count: 0, bytes: 0, released: 0, released_bytes: 0 })
}

impl Producer {
    /// Room for a record of `size` granules in one piece; `None` when it is not there.
    #[inline]
    fn reserve(&mut self, size: usize) -> Option<*mut u8> {
        let capacity = self.shared.granules.len();
        let to_end = capacity - (self.tail & (capacity - 1));
        let needed = if size <= to_end { size } else { to_end + size };
        if capacity - (self.tail - self.head_seen) < needed {
            self.look();
            if capacity - (self.tail - self.head_seen) < needed {
                return None;
            }
        }
        if size > to_end {
            // SAFETY: the granule is free.
            unsafe { self.shared.at(self.tail).write(PADDING) };
            self.tail += to_end;
        }
        Some(self.shared.at(self.tail))
    }

    /// Puts in a message of one short frame, at most [`INLINE_SIZE_MAX`] bytes, not yet visible.
    /// False when there is no room.
    #[inline]
    pub fn push_short(&mut self, body: &[u8]) -> bool {
        assert!(body.len() <= INLINE_SIZE_MAX);
        let size = (2 + body.len()).div_ceil(GRANULE_SIZE);
        let Some(record) = self.reserve(size) else { return false };
        // SAFETY: `size` granules at `record` are free and not published.
        unsafe {
            record.cast::<[u8; 2]>().write([SHORT, body.len() as u8]);
            copy_short(body, record.add(2));
        }
        self.tail += size;
        self.count += 1;
        true
    }

    /// Puts in a message, not yet visible; gives it back when there is no room.
    pub fn push(&mut self, message: Message) -> Result<(), Message> {
        if let [frame] = message.as_frames()
            && frame.size() <= INLINE_SIZE_MAX
        {
            return if self.push_short(frame.as_bytes()) { Ok(()) } else { Err(message) };
        }
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
    #[inline]
    pub fn pop(&mut self, into: &mut Message) -> bool {
        loop {
            if self.head == self.tail_seen {
                self.tail_seen = self.shared.tail.0.load(Ordering::Acquire);
                if self.head == self.tail_seen {
                    return false;
                }
            }
            let record = self.shared.at(self.head);
            // SAFETY: a published record starts here.
            match unsafe { record.read() } {
                SHORT => return self.pop_short(into),
                WHOLE => {
                    // SAFETY: the message was written before it was published and is read once.
                    *into = unsafe { record.add(GRANULE_SIZE).cast::<Message>().read() };
                    self.bytes += into.size();
                    self.head += WHOLE_GRANULES;
                }
                _ => {
                    let capacity = self.shared.granules.len();
                    self.head += capacity - (self.head & (capacity - 1));
                    continue;
                }
            }
            self.count += 1;
            return true;
        }
    }

    /// Takes the next message if it is a short one that has been seen already.
    #[inline]
    pub fn pop_short(&mut self, into: &mut Message) -> bool {
        if self.head == self.tail_seen {
            return false;
        }
        let record = self.shared.at(self.head);
        // SAFETY: a published record starts here; a short one's size and body follow.
        let body = unsafe {
            if record.read() != SHORT {
                return false;
            }
            std::slice::from_raw_parts(record.add(2), record.add(1).read() as usize)
        };
        into.set(body);
        self.bytes += body.len();
        self.head += (2 + body.len()).div_ceil(GRANULE_SIZE);
        self.count += 1;
        true
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

    /// Messages taken since the room was last given back.
    #[inline]
    pub fn unreleased(&self) -> usize {
        self.count - self.released
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
        self.shared.closed.store(true, Ordering::Release);
        // What was never taken is dropped by whoever goes last: the position tells where it starts.
        self.release();
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let (mut head, tail) =
            (self.given.0.head.load(Ordering::Acquire), self.tail.0.load(Ordering::Acquire));
        while head != tail {
            let record = self.at(head);
            // SAFETY: published records lie between the two positions; both sides are gone.
            head += match unsafe { record.read() } {
                // SAFETY: as above; the size follows the kind.
                SHORT => (2 + unsafe { record.add(1).read() } as usize).div_ceil(GRANULE_SIZE),
                WHOLE => {
                    // SAFETY: as above; the message was not taken.
                    unsafe { record.add(GRANULE_SIZE).cast::<Message>().drop_in_place() };
                    WHOLE_GRANULES
                }
                _ => self.granules.len() - (head & (self.granules.len() - 1)),
            };
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn pop(consumer: &mut Consumer) -> Option<Message> {
        let mut message = Message::new();
        consumer.pop(&mut message).then_some(message)
    }

    fn message(index: usize) -> Message {
        match index % 4 {
            0 => Message::from(vec![index as u8; index % 63]),
            1 => Message::from(vec![index as u8; 63 + index % 500]),
            2 => Message::from_frames([vec![1; index % 10], vec![index as u8; 3]]),
            _ => Message::from(&index.to_le_bytes()),
        }
    }

    #[test]
    fn messages_of_every_kind_cross_threads_in_order() {
        const COUNT: usize = 200_000;
        let (mut producer, mut consumer) = ring(50);
        let thread = std::thread::spawn(move || {
            for index in 0..COUNT {
                let mut next = message(index);
                while let Err(back) = producer.push(next) {
                    producer.publish();
                    std::thread::yield_now();
                    next = back;
                }
                if index % 7 == 0 {
                    producer.publish();
                }
            }
        });
        let mut expected = 0;
        while expected < COUNT {
            match pop(&mut consumer) {
                Some(got) => {
                    assert!(got == message(expected), "message {expected}");
                    expected += 1;
                }
                None => {
                    consumer.release();
                    std::thread::yield_now();
                }
            }
        }
        thread.join().unwrap();
        assert!(consumer.is_closed());
    }

    #[test]
    fn a_ring_has_room_for_its_count_of_the_widest_messages_wherever_it_stands() {
        for start in 0..40 {
            let (mut producer, mut consumer) = ring(7);
            for _ in 0..start {
                assert!(producer.push_short(b"x"));
                producer.publish();
                pop(&mut consumer).unwrap();
                consumer.release();
            }
            for index in 0..7 {
                assert!(producer.push(Message::from(vec![7; 100])).is_ok(), "{start} {index}");
            }
        }
    }

    #[test]
    fn a_full_ring_returns_the_message_and_room_comes_back() {
        let (mut producer, mut consumer) = ring(1);
        let wide = Message::from(vec![1; 100]);
        let mut count = 0;
        while producer.push(wide.clone()).is_ok() {
            count += 1;
        }
        producer.publish();
        assert_eq!(pop(&mut consumer).unwrap(), wide);
        assert_eq!(producer.look(), (count, 0));
        consumer.release();
        assert_eq!(producer.look(), (count - 1, 100));
        producer.push(wide).unwrap();
    }

    #[test]
    fn unpublished_messages_are_invisible() {
        let (mut producer, mut consumer) = ring(4);
        assert!(producer.push_short(b"one"));
        assert_eq!((pop(&mut consumer), producer.unpublished()), (None, 1));
        producer.publish();
        assert_eq!(pop(&mut consumer).unwrap().body(), b"one");
    }

    #[test]
    fn what_was_not_taken_is_dropped_once() {
        let body = Message::from(vec![9; 1000]);
        let (mut producer, mut consumer) = ring(8);
        (0..6).for_each(|_| producer.push(body.clone()).unwrap());
        producer.publish();
        pop(&mut consumer).unwrap();
        drop((producer, consumer));
        assert_eq!(body.as_frames()[0].reference_count(), 1);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;

    fn pop(consumer: &mut Consumer) -> Option<Message> {
        let mut message = Message::new();
        consumer.pop(&mut message).then_some(message)
    }

    #[test]
    fn loom_messages_cross_in_order_and_none_is_lost() {
        loom::model(|| {
            let (mut producer, mut consumer) = ring(1);
            let thread = loom::thread::spawn(move || {
                for value in 0..3u8 {
                    // Wide ones, so that the ring is full after one and wraps.
                    let mut next = Message::from(vec![value; 70]);
                    while let Err(back) = producer.push(next) {
                        producer.publish();
                        loom::thread::yield_now();
                        next = back;
                    }
                    producer.publish();
                }
            });
            for expected in 0..3u8 {
                let message = loop {
                    match pop(&mut consumer) {
                        Some(message) => break message,
                        None => {
                            consumer.release();
                            loom::thread::yield_now();
                        }
                    }
                };
                assert_eq!(message.body()[0], expected);
            }
            thread.join().unwrap();
        });
    }

    /// The sleep protocol of an engine: publish, fence, look for a sleeper; against: say that one
    /// sleeps, fence, look for messages. Either side must notice the other.
    #[test]
    fn loom_a_sleeper_is_seen_or_sees_the_message() {
        use loom::sync::atomic::{AtomicBool, fence};
        loom::model(|| {
            let (mut producer, mut consumer) = ring(2);
            let sleeping = Arc::new(AtomicBool::new(false));
            let flag = Arc::clone(&sleeping);
            let thread = loom::thread::spawn(move || {
                assert!(producer.push_short(b"x"));
                producer.publish();
                fence(Ordering::SeqCst);
                (flag.load(Ordering::Relaxed), producer)
            });
            sleeping.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            let seen = pop(&mut consumer).is_some();
            let (woken, _producer) = thread.join().unwrap();
            assert!(seen || woken);
        });
    }
}
