//! The limit of inproc and of shared memory: a ring between two threads or two processes, its positions published per
//! message or per batch call.
//!
//! It copies each body into the ring and hands nothing on: no patterns, no peers, no ownership of received bodies. The
//! slots are atomic words, so it needs no unsafe code; a relaxed store costs as much as a plain one. In the throughput
//! case both ends spin. In a round trip the receiver sleeps on a futex, as an application's thread would.
//!
//! Invariants: `published - consumed` never exceeds `slot_count`; only the sender writes `published` and the slots
//! between the two, only the receiver writes `consumed`.

use std::collections::HashMap;
use std::hint;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result};
use rustix::thread::futex;

use super::contract::{
    Contender, DealerPattern, End, Opens, PubPattern, PullPattern, PushPattern, Receiving, RouterPattern,
    Sending, SubPattern, check_size, failed,
};
use super::pair::Pair;
use super::ring_memory::RingMemory;
use crate::sample::{Calls, CaseName, Subject, Transport};

const WORD_SIZE: usize = size_of::<u64>();
const RING_SIZE: usize = 256 * 1024;
/// The messages of an echo under way fit into this ring. Otherwise both ends would wait for room.
const RING_SIZE_ECHO: usize = 4 << 20;
const SLOT_COUNT_MIN: usize = 4;
const SLOT_COUNT_MAX: usize = 8192;
const SPIN_COUNT: u32 = 200;

/// The settings, and the rings of a process by name.
pub struct RingLimit {
    rings: Mutex<HashMap<String, Ring>>,
    shape: Shape,
}

/// Both ends come to the same.
#[derive(Clone, Copy)]
struct Shape {
    /// Bytes of a message.
    size: usize,
    slot_words: usize,
    slot_count: usize,
    is_shared: bool,
    is_sleeping: bool,
}

impl Contender for RingLimit {
    fn open(subject: &Subject) -> Result<Self> {
        let ring_size = if subject.case == CaseName::Echo { RING_SIZE_ECHO } else { RING_SIZE };
        let slot_size = if subject.calls == Calls::Handle { WORD_SIZE } else { subject.size };
        let slot_words = 1 + slot_size.div_ceil(WORD_SIZE);
        let fitting = ring_size / (slot_words * WORD_SIZE);
        let shape = Shape {
            size: subject.size,
            slot_words,
            slot_count: fitting.clamp(SLOT_COUNT_MIN, SLOT_COUNT_MAX).next_power_of_two(),
            is_shared: subject.transport != Transport::Inproc,
            is_sleeping: subject.case == CaseName::RoundTrip && subject.calls != Calls::Spin,
        };
        Ok(Self { rings: Mutex::default(), shape })
    }
}

impl RingLimit {
    /// Makes the rings of an end, and returns them with their names, which a space separates.
    fn make_rings(&self, number: usize, count: usize) -> Result<(Vec<Ring>, String)> {
        let (shape, word_count) = (self.shape, self.shape.slot_words * self.shape.slot_count);
        let mut known = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut rings, mut names) = (Vec::new(), Vec::new());
        for index in 0..count {
            let (memory, name) = match shape.is_shared {
                true => RingMemory::shared(word_count).map_err(failed("memfd"))?,
                false => (RingMemory::private(word_count), format!("ring-{}", count * number + index)),
            };
            rings.push(Ring { memory, shape });
            known.insert(name.clone(), Ring { memory, shape });
            names.push(name);
        }
        Ok((rings, names.join(" ")))
    }

    /// Finds the rings with these names.
    fn find_rings(&self, endpoints: &[String]) -> Result<Vec<Ring>> {
        let (shape, word_count) = (self.shape, self.shape.slot_words * self.shape.slot_count);
        let known = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        let names = endpoints.iter().flat_map(|endpoint| endpoint.split(' '));
        let find = |name: &str| match shape.is_shared {
            true => Ok(Ring { memory: RingMemory::open(name, word_count).map_err(failed("mmap"))?, shape }),
            false => known.get(name).copied().with_context(|| format!("endpoint {name} is unknown")),
        };
        names.map(find).collect()
    }
}

/// Implements [`Opens`] for socket types: the end of each, made by a function of its rings, and the number of rings that it
/// makes where it binds. A PUB gets the rings of all its subscribers.
macro_rules! opens {
    ($($pattern:ty => $end:ty, $make:path, $ring_count:literal;)*) => {$(
        impl Opens<$pattern> for RingLimit {
            type End = $end;

            fn bind(&self, number: usize) -> Result<($end, String)> {
                let (rings, endpoint) = self.make_rings(number, $ring_count)?;
                Ok(($make(&rings), endpoint))
            }

            fn connect(&self, endpoints: &[String]) -> Result<$end> {
                Ok($make(&self.find_rings(endpoints)?))
            }
        }
    )*};
}

opens! {
    PushPattern => RingSender, RingSender::new, 1;
    PullPattern => RingReceiver, RingReceiver::new, 1;
    PubPattern => Vec<RingSender>, publisher, 1;
    SubPattern => RingReceiver, RingReceiver::new, 1;
    DealerPattern => Pair<RingSender, RingReceiver>, client, 2;
    RouterPattern => Pair<RingSender, RingReceiver>, server, 2;
}

fn publisher(rings: &[Ring]) -> Vec<RingSender> {
    rings.chunks(1).map(RingSender::new).collect()
}

/// Sends requests over the first ring, and gets the replies over the second.
fn client(rings: &[Ring]) -> Pair<RingSender, RingReceiver> {
    Pair::new(RingSender::new(rings), RingReceiver::new(&rings[1..]), rings[0].shape.size)
}

fn server(rings: &[Ring]) -> Pair<RingSender, RingReceiver> {
    Pair::new(RingSender::new(&rings[1..]), RingReceiver::new(rings), rings[0].shape.size)
}

#[derive(Clone, Copy)]
struct Ring {
    memory: RingMemory,
    shape: Shape,
}

impl Ring {
    /// Per slot: the size of the body in bytes, then its words.
    #[inline]
    fn slot(&self, position: u64) -> &[AtomicU64] {
        let index = position as usize & (self.shape.slot_count - 1);
        &self.memory.words[index * self.shape.slot_words..(index + 1) * self.shape.slot_words]
    }
}

/// Waits a moment: spins at first, then lets another thread have the core.
fn pause(turn: &mut u32) {
    if *turn < SPIN_COUNT {
        *turn += 1;
        hint::spin_loop();
    } else {
        thread::yield_now();
    }
}

/// The sending end.
pub struct RingSender {
    ring: Ring,
    next: u64,
    consumed: u64,
}

impl RingSender {
    fn new(rings: &[Ring]) -> Self {
        Self { ring: rings[0], next: 0, consumed: 0 }
    }

    #[inline]
    fn write(&mut self, body: &[u8], size: usize) {
        if self.next - self.consumed == self.ring.shape.slot_count as u64 {
            self.wait_for_room();
        }
        let slot = self.ring.slot(self.next);
        slot[0].store(size as u64, Ordering::Relaxed);
        let words = body.chunks_exact(WORD_SIZE);
        let rest = words.remainder();
        for (word, place) in words.zip(&slot[1..]) {
            let mut bytes = [0; WORD_SIZE];
            bytes.copy_from_slice(word);
            place.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
        }
        if !rest.is_empty() {
            let mut bytes = [0; WORD_SIZE];
            bytes[..rest.len()].copy_from_slice(rest);
            slot[slot.len() - 1].store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
        }
        self.next += 1;
    }

    #[cold]
    fn wait_for_room(&mut self) {
        self.publish();
        let mut turn = 0;
        loop {
            self.consumed = self.ring.memory.consumed.load(Ordering::Acquire);
            if self.next - self.consumed < self.ring.shape.slot_count as u64 {
                return;
            }
            pause(&mut turn);
        }
    }

    #[inline]
    fn publish(&self) {
        self.ring.memory.published.store(self.next, Ordering::Release);
        if self.ring.shape.is_sleeping {
            // Pairs with the fence of the receiver: either it sees this position or we see that it sleeps.
            fence(Ordering::SeqCst);
            let sleeps = self.ring.memory.sleeps;
            if sleeps.load(Ordering::Relaxed) != 0 && sleeps.swap(0, Ordering::Relaxed) != 0 {
                // A failure has no cause here, and no reader.
                let _ = futex::wake(sleeps, futex::Flags::empty(), 1);
            }
        }
    }
}

impl End for RingSender {}

impl Sending for RingSender {
    #[inline]
    fn send(&mut self, body: &[u8]) -> Result<()> {
        self.write(body, body.len());
        self.publish();
        Ok(())
    }

    fn send_batch(&mut self, body: &[u8], count: usize) -> Result<()> {
        for _ in 0..count {
            self.write(body, body.len());
        }
        self.publish();
        Ok(())
    }

    /// A word stands for the body: the slots are that wide.
    fn send_handles(&mut self, body: &[u8], count: u64) -> Result<()> {
        for _ in 0..count {
            self.write(&[0; WORD_SIZE], body.len());
            self.publish();
        }
        Ok(())
    }
}

/// The receiving end.
pub struct RingReceiver {
    ring: Ring,
    next: u64,
    published: u64,
}

impl RingReceiver {
    fn new(rings: &[Ring]) -> Self {
        Self { ring: rings[0], next: 0, published: 0 }
    }

    #[cold]
    fn wait_for_message(&mut self) {
        let mut turn = 0;
        loop {
            self.published = self.ring.memory.published.load(Ordering::Acquire);
            if self.published != self.next {
                return;
            }
            match self.ring.shape.is_sleeping {
                true => self.sleep(),
                false => pause(&mut turn),
            }
        }
    }

    /// Until the sender wakes, or for nothing.
    fn sleep(&self) {
        let RingMemory { published, sleeps, .. } = self.ring.memory;
        sleeps.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if published.load(Ordering::Relaxed) == self.next {
            // Interrupted, or woken before it slept: it looks again.
            let _ = futex::wait(sleeps, futex::Flags::empty(), 1, None);
        }
    }

    #[inline]
    fn read(&mut self) -> usize {
        let size = self.ring.slot(self.next)[0].load(Ordering::Relaxed);
        self.next += 1;
        size as usize
    }

    #[inline]
    fn release(&self) {
        self.ring.memory.consumed.store(self.next, Ordering::Release);
    }
}

impl End for RingReceiver {}

impl Receiving for RingReceiver {
    #[inline]
    fn receive(&mut self) -> Result<usize> {
        if self.next == self.published {
            self.wait_for_message();
        }
        let size = self.read();
        self.release();
        Ok(size)
    }

    fn receive_batch(&mut self, size: usize, max: usize) -> Result<usize> {
        if self.next == self.published {
            self.wait_for_message();
        }
        let count = (self.published - self.next).min(max as u64) as usize;
        for _ in 0..count {
            check_size(self.read(), size)?;
        }
        self.release();
        Ok(count)
    }
}

/// A sending end for each subscriber.
impl End for Vec<RingSender> {}

impl Sending for Vec<RingSender> {
    #[inline]
    fn send(&mut self, body: &[u8]) -> Result<()> {
        self.iter_mut().try_for_each(|sender| sender.send(body))
    }

    fn send_batch(&mut self, body: &[u8], count: usize) -> Result<()> {
        self.iter_mut().try_for_each(|sender| sender.send_batch(body, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::contender::Echoing;

    fn check(case: CaseName, transport: Transport, size: usize, message_count: u64) {
        let limit = &RingLimit::open(&Subject::of_limit(case, transport, size)).unwrap();
        let (mut receiver, name) = Opens::<PullPattern>::bind(limit, 0).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut sender = Opens::<PushPattern>::connect(limit, &[name]).unwrap();
                (0..message_count).for_each(|_| sender.send(&vec![7; size]).unwrap());
            });
            for _ in 0..message_count {
                assert_eq!(receiver.receive().unwrap(), size);
            }
        });
    }

    #[test]
    fn a_spinning_ring_passes_more_messages_than_it_has_slots() {
        check(CaseName::Throughput, Transport::Inproc, 8, 50_000);
        check(CaseName::Throughput, Transport::Shm, 8, 50_000);
    }

    #[test]
    fn a_sleeping_ring_misses_no_wake_up() {
        check(CaseName::RoundTrip, Transport::Inproc, 8, 20_000);
        check(CaseName::RoundTrip, Transport::Shm, 8, 20_000);
    }

    #[test]
    fn sizes_that_are_no_whole_words_arrive() {
        check(CaseName::Throughput, Transport::Inproc, 13, 1000);
        check(CaseName::Throughput, Transport::Ipc, 1, 1000);
    }

    #[test]
    fn an_echo_comes_back_over_shared_memory() {
        let limit = RingLimit::open(&Subject::of_limit(CaseName::Echo, Transport::Shm, 8)).unwrap();
        let (mut client, endpoint) = Opens::<DealerPattern>::bind(&limit, 0).unwrap();
        let mut server = Opens::<RouterPattern>::connect(&limit, &[endpoint]).unwrap();
        client.send(&[7; 8]).unwrap();
        assert_eq!(server.echo().unwrap(), 8);
        assert_eq!(client.receive().unwrap(), 8);
    }
}
