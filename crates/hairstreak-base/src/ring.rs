//! The ring between two engines: single producer, single consumer, bounded, published in batches.
//!
//! The producer writes slots and makes them visible by [`Producer::publish`]; the consumer takes them
//! and gives the room back in batches. Each side keeps its own position and a copy of the other's, so
//! that while neither runs out the two share no cache line but the slots'.
//!
//! Waking a sleeping side is the caller's business: publish (or give back), then look whether the
//! other side sleeps, behind the fence of [`crate::fence`].

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// On a line of its own (two, for the adjacent-line prefetcher).
#[repr(align(128))]
#[derive(Debug)]
struct Line<T>(T);

#[derive(Debug)]
struct Shared<T> {
    /// Slots published so far.
    tail: Line<AtomicUsize>,
    /// Slots given back so far, and the bytes that were in them.
    head: Line<(AtomicUsize, AtomicUsize)>,
    closed: AtomicBool,
    slots: Box<[Slot<T>]>,
}

#[repr(align(64))]
#[derive(Debug)]
struct Slot<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: a slot is touched by the producer while free and by the consumer while published, never
// by both; the positions that say which are atomics.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Shared<T> {}

/// The side that puts in.
#[derive(Debug)]
pub struct Producer<T> {
    shared: Arc<Shared<T>>,
    tail: usize,
    published: usize,
    head_seen: usize,
}

/// The side that takes out.
#[derive(Debug)]
pub struct Consumer<T> {
    shared: Arc<Shared<T>>,
    head: usize,
    bytes: usize,
    released: usize,
    tail_seen: usize,
}

/// A ring of at least `capacity` slots (a power of two).
pub fn ring<T>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    let capacity = capacity.max(2).next_power_of_two();
    let shared = Arc::new(Shared {
        tail: Line(AtomicUsize::new(0)),
        head: Line((AtomicUsize::new(0), AtomicUsize::new(0))),
        closed: AtomicBool::new(false),
        slots: (0..capacity).map(|_| Slot(UnsafeCell::new(MaybeUninit::uninit()))).collect(),
    });
    let producer = Producer { shared: Arc::clone(&shared), tail: 0, published: 0, head_seen: 0 };
    (producer, Consumer { shared, head: 0, bytes: 0, released: 0, tail_seen: 0 })
}

impl<T> Producer<T> {
    /// Puts `value` into the next slot, not yet visible; gives it back when all slots are taken.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), T> {
        let capacity = self.shared.slots.len();
        if self.tail - self.head_seen == capacity {
            self.head_seen = self.shared.head.0.0.load(Ordering::Acquire);
            if self.tail - self.head_seen == capacity {
                return Err(value);
            }
        }
        let slot = &self.shared.slots[self.tail & (capacity - 1)];
        // SAFETY: the slot was given back (or never used) and is not published.
        unsafe { (*slot.0.get()).write(value) };
        self.tail += 1;
        Ok(())
    }

    /// As [`Producer::push`], for a value that is finished where it lies: `start` goes into the slot and
    /// `finish` gets it there. Returns false, without calling it, when all slots are taken.
    #[inline]
    pub fn push_in_place(&mut self, start: T, finish: impl FnOnce(&mut T)) -> bool {
        let capacity = self.shared.slots.len();
        if self.tail - self.head_seen == capacity {
            return false;
        }
        let slot = &self.shared.slots[self.tail & (capacity - 1)];
        // SAFETY: the slot was given back (or never used) and is not published.
        finish(unsafe { (*slot.0.get()).write(start) });
        self.tail += 1;
        true
    }

    /// Makes every slot put in so far visible.
    #[inline]
    pub fn publish(&mut self) {
        self.published = self.tail;
        self.shared.tail.0.store(self.tail, Ordering::Release);
    }

    /// Slots put in and not yet visible.
    #[inline]
    pub fn unpublished(&self) -> usize {
        self.tail - self.published
    }

    /// Slots put in and not given back, as far as the last look tells: never too few.
    #[inline]
    pub fn occupied(&self) -> usize {
        self.tail - self.head_seen
    }

    /// As [`Producer::occupied`], after a look at the consumer; and the bytes taken out in all.
    pub fn look(&mut self) -> (usize, usize) {
        let bytes = self.shared.head.0.1.load(Ordering::Relaxed);
        self.head_seen = self.shared.head.0.0.load(Ordering::Acquire);
        (self.tail - self.head_seen, bytes)
    }

    /// Whether the consumer is gone.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }
}

impl<T> Consumer<T> {
    /// Takes the next visible value into `into`; false if there is none. `size` of it is added to the bytes taken out. The producer has the
    /// slot's room after [`Consumer::release`].
    #[inline]
    pub fn pop(&mut self, into: &mut T, size: impl FnOnce(&T) -> usize) -> bool {
        if self.head == self.tail_seen {
            self.tail_seen = self.shared.tail.0.load(Ordering::Acquire);
            if self.head == self.tail_seen {
                return false;
            }
        }
        let capacity = self.shared.slots.len();
        let slot = &self.shared.slots[self.head & (capacity - 1)];
        // SAFETY: the slot is published and not yet taken.
        *into = unsafe { (*slot.0.get()).assume_init_read() };
        self.bytes += size(into);
        self.head += 1;
        true
    }

    /// Gives the room of everything taken so far back to the producer.
    pub fn release(&mut self) {
        if self.released != self.head {
            self.released = self.head;
            self.shared.head.0.1.store(self.bytes, Ordering::Relaxed);
            self.shared.head.0.0.store(self.head, Ordering::Release);
        }
    }

    /// Whether nothing is visible now.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail_seen && self.head == self.shared.tail.0.load(Ordering::Acquire)
    }

    /// Values visible and not taken.
    pub fn len(&self) -> usize {
        self.shared.tail.0.load(Ordering::Acquire) - self.head
    }

    /// Slots taken since the room was last given back.
    #[inline]
    pub fn unreleased(&self) -> usize {
        self.head - self.released
    }

    /// Whether the producer is gone; what it published stays to be taken.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        self.publish();
        self.shared.closed.store(true, Ordering::Release);
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        self.release();
        self.shared.closed.store(true, Ordering::Release);
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // Both sides are gone: the producer published everything and the consumer gave back all it
        // took, each in its own drop. What lies between was never taken.
        let capacity = self.slots.len();
        let (head, tail) = (self.head.0.0.load(Ordering::Acquire), self.tail.0.load(Ordering::Acquire));
        for index in head..tail {
            // SAFETY: published and, since the consumer releases on drop, not taken.
            unsafe { (*self.slots[index & (capacity - 1)].0.get()).assume_init_drop() };
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn pop<T: Default>(consumer: &mut Consumer<T>, size: usize) -> Option<T> {
        let mut value = T::default();
        consumer.pop(&mut value, |_| size).then_some(value)
    }

    #[test]
    fn values_cross_threads_in_order() {
        let (mut producer, mut consumer) = ring(64);
        let thread = std::thread::spawn(move || {
            for value in 0..200_000usize {
                let mut value = value;
                while let Err(back) = producer.push(value) {
                    producer.publish();
                    std::thread::yield_now();
                    value = back;
                }
                if value % 7 == 0 {
                    producer.publish();
                }
            }
        });
        let mut expected = 0;
        while expected < 200_000 {
            match pop(&mut consumer, 1) {
                Some(value) => {
                    assert_eq!(value, expected);
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
    fn a_full_ring_returns_the_value_and_room_comes_back() {
        let (mut producer, mut consumer) = ring(4);
        (0..4).for_each(|i| producer.push(i).unwrap());
        assert_eq!(producer.push(4), Err(4));
        producer.publish();
        assert_eq!(pop(&mut consumer, 10), Some(0));
        assert_eq!(producer.look(), (4, 0));
        consumer.release();
        assert_eq!(producer.look(), (3, 10));
        producer.push(4).unwrap();
    }

    #[test]
    fn a_value_may_be_finished_in_its_slot() {
        let (mut producer, mut consumer) = ring(2);
        assert!(producer.push_in_place(1, |value| *value += 1));
        assert!(producer.push_in_place(3, |_| ()));
        assert!(!producer.push_in_place(4, |_| unreachable!()));
        producer.publish();
        assert_eq!((pop(&mut consumer, 0), pop(&mut consumer, 0)), (Some(2), Some(3)));
    }

    #[test]
    fn unpublished_values_are_invisible() {
        let (mut producer, mut consumer) = ring(4);
        producer.push(1).unwrap();
        assert_eq!((pop(&mut consumer, 0), producer.unpublished()), (None, 1));
        producer.publish();
        assert_eq!(pop(&mut consumer, 0), Some(1));
    }

    #[test]
    fn what_was_not_taken_is_dropped_once() {
        let value = std::sync::Arc::new(());
        let (mut producer, mut consumer) = ring(8);
        (0..6).for_each(|_| producer.push(std::sync::Arc::clone(&value)).unwrap());
        producer.publish();
        pop(&mut consumer, 0);
        pop(&mut consumer, 0);
        drop((producer, consumer));
        assert_eq!(std::sync::Arc::strong_count(&value), 1);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;

    fn pop(consumer: &mut Consumer<usize>) -> Option<usize> {
        let mut value = 0;
        consumer.pop(&mut value, |_| 1).then_some(value)
    }

    #[test]
    fn loom_values_cross_in_order_and_none_is_lost() {
        loom::model(|| {
            let (mut producer, mut consumer) = ring::<usize>(2);
            let thread = loom::thread::spawn(move || {
                for value in 0..3 {
                    let mut value = value;
                    while let Err(back) = producer.push(value) {
                        producer.publish();
                        loom::thread::yield_now();
                        value = back;
                    }
                    producer.publish();
                }
            });
            for expected in 0..3 {
                let value = loop {
                    match pop(&mut consumer) {
                        Some(value) => break value,
                        None => {
                            consumer.release();
                            loom::thread::yield_now();
                        }
                    }
                };
                assert_eq!(value, expected);
            }
            thread.join().unwrap();
        });
    }

    /// The sleep protocol of an engine: publish, light fence, look for a sleeper; against: say that
    /// one sleeps, heavy fence, look for values. Either side must notice the other.
    #[test]
    fn loom_a_sleeper_is_seen_or_sees_the_value() {
        use crate::fence;
        use loom::sync::atomic::AtomicBool;
        loom::model(|| {
            let (mut producer, mut consumer) = ring::<usize>(2);
            let sleeping = Arc::new(AtomicBool::new(false));
            let flag = Arc::clone(&sleeping);
            let thread = loom::thread::spawn(move || {
                producer.push(1).unwrap();
                producer.publish();
                fence::light();
                (flag.load(Ordering::Relaxed), producer)
            });
            sleeping.store(true, Ordering::Relaxed);
            fence::heavy();
            let seen = pop(&mut consumer).is_some();
            let (woken, _producer) = thread.join().unwrap();
            assert!(seen || woken);
        });
    }
}
