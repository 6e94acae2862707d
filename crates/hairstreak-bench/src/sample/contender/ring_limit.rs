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
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result};
use rustix::thread::futex;

use super::contract::{Component, Contender, Echoing, Opening, Receiving, Sending, failed, wrong_size};
use super::ring_memory::RingMemory;
use crate::sample::{Calls, CaseName, Transport};

const WORD_SIZE: usize = size_of::<u64>();
const RING_SIZE: usize = 256 * 1024;
/// The messages of an echo under way fit into this ring. Otherwise both ends would wait for room.
const RING_SIZE_ECHO: usize = 4 << 20;
const SLOT_COUNT_MIN: usize = 4;
const SLOT_COUNT_MAX: usize = 8192;
const SPIN_COUNT: u32 = 200;

/// The settings, and the rings of a process by name.
pub struct RingLimit {
    rings: Rings,
    shape: Shape,
}

type Rings = Arc<Mutex<HashMap<String, Ring>>>;

/// Both ends come to the same.
#[derive(Clone, Copy)]
struct Shape {
    slot_words: usize,
    slot_count: usize,
    is_shared: bool,
    is_sleeping: bool,
}

impl Contender for RingLimit {
    type Component = RingComponent;

    fn open(opening: Opening<'_>) -> Result<Self> {
        let ring_size = if opening.case == CaseName::Echo { RING_SIZE_ECHO } else { RING_SIZE };
        let slot_size = if opening.calls == Calls::Handle { WORD_SIZE } else { opening.size };
        let slot_words = 1 + slot_size.div_ceil(WORD_SIZE);
        let fitting = ring_size / (slot_words * WORD_SIZE);
        let shape = Shape {
            slot_words,
            slot_count: fitting.clamp(SLOT_COUNT_MIN, SLOT_COUNT_MAX).next_power_of_two(),
            is_shared: opening.transport != Transport::Inproc,
            is_sleeping: opening.case == CaseName::RoundTrip && opening.calls != Calls::Spin,
        };
        Ok(Self { rings: Rings::default(), shape })
    }

    fn component(&self) -> Result<RingComponent> {
        Ok(RingComponent { rings: Arc::clone(&self.rings), shape: self.shape })
    }
}

/// The rings as one thread sees them.
pub struct RingComponent {
    rings: Rings,
    shape: Shape,
}

impl RingComponent {
    fn bind(&self, number: usize) -> Result<(Ring, String)> {
        let word_count = self.shape.slot_words * self.shape.slot_count;
        if self.shape.is_shared {
            let (memory, path) = RingMemory::shared(word_count).map_err(failed("memfd"))?;
            return Ok((Ring { memory, shape: self.shape }, path));
        }
        let ring = Ring { memory: RingMemory::private(word_count), shape: self.shape };
        let name = format!("ring-{number}");
        let mut rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        rings.insert(name.clone(), ring);
        Ok((ring, name))
    }

    fn connect(&self, name: &str) -> Result<Ring> {
        if self.shape.is_shared {
            let memory = RingMemory::open(name, self.shape.slot_words * self.shape.slot_count);
            let memory = memory.map_err(failed("mmap"))?;
            return Ok(Ring { memory, shape: self.shape });
        }
        let rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        rings.get(name).copied().with_context(|| unknown(name))
    }
}

impl Component for RingComponent {
    type Sender = RingSender;
    type Receiver = RingReceiver;
    type Subscriber = RingReceiver;
    type Publisher = RingPublisher;
    type Client = RingClient;
    type Server = RingServer;

    fn bind_receiver(&self, number: usize) -> Result<(RingReceiver, String)> {
        let (ring, name) = self.bind(number)?;
        Ok((RingReceiver::new(ring), name))
    }

    fn bind_sender(&self, number: usize) -> Result<(RingSender, String)> {
        let (ring, name) = self.bind(number)?;
        Ok((RingSender::new(ring), name))
    }

    fn connect_receiver(&self, endpoint: &str) -> Result<RingReceiver> {
        Ok(RingReceiver::new(self.connect(endpoint)?))
    }

    fn connect_sender(&self, endpoint: &str) -> Result<RingSender> {
        Ok(RingSender::new(self.connect(endpoint)?))
    }

    fn bind_subscriber(&self, number: usize) -> Result<(RingReceiver, String)> {
        self.bind_receiver(number)
    }

    fn connect_publisher(&self, endpoints: &[String]) -> Result<RingPublisher> {
        let senders: Result<_, _> = endpoints.iter().map(|name| self.connect_sender(name)).collect();
        Ok(RingPublisher(senders?))
    }

    /// The ring towards the client has a name of its own, behind the other's.
    fn bind_client(&self, number: usize) -> Result<(RingClient, String)> {
        let (requests, name) = self.bind(2 * number)?;
        let (replies, back) = self.bind(2 * number + 1)?;
        Ok((RingClient(RingSender::new(requests), RingReceiver::new(replies)), format!("{name} {back}")))
    }

    fn connect_server(&self, endpoint: &str) -> Result<RingServer> {
        let (name, back) = endpoint.split_once(' ').with_context(|| unknown(endpoint))?;
        Ok(RingServer {
            requests: RingReceiver::new(self.connect(name)?),
            replies: RingSender::new(self.connect(back)?),
            body: vec![b'h'; (self.shape.slot_words - 1) * WORD_SIZE],
        })
    }
}

fn unknown(endpoint: &str) -> String {
    format!("endpoint {endpoint} is unknown")
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
    fn new(ring: Ring) -> Self {
        Self { ring, next: 0, consumed: 0 }
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

impl Sending for RingSender {
    fn wait_ready(&mut self) -> Result<()> {
        Ok(())
    }

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

    fn flush(&mut self) -> Result<()> {
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
    fn new(ring: Ring) -> Self {
        Self { ring, next: 0, published: 0 }
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

impl Receiving for RingReceiver {
    fn wait_ready(&mut self) -> Result<()> {
        Ok(())
    }

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
            match self.read() {
                received if received == size => {}
                received => return Err(wrong_size(received, size)),
            }
        }
        self.release();
        Ok(count)
    }
}

/// A sending end per subscriber.
pub struct RingPublisher(Vec<RingSender>);

impl Sending for RingPublisher {
    fn wait_ready(&mut self) -> Result<()> {
        Ok(())
    }

    #[inline]
    fn send(&mut self, body: &[u8]) -> Result<()> {
        self.0.iter_mut().try_for_each(|sender| sender.send(body))
    }

    fn send_batch(&mut self, body: &[u8], count: usize) -> Result<()> {
        self.0.iter_mut().try_for_each(|sender| sender.send_batch(body, count))
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Requests go out over one ring, replies come back over another.
pub struct RingClient(RingSender, RingReceiver);

impl Sending for RingClient {
    fn wait_ready(&mut self) -> Result<()> {
        Ok(())
    }

    #[inline]
    fn send(&mut self, body: &[u8]) -> Result<()> {
        self.0.send(body)
    }

    fn send_batch(&mut self, body: &[u8], count: usize) -> Result<()> {
        self.0.send_batch(body, count)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Receiving for RingClient {
    fn wait_ready(&mut self) -> Result<()> {
        self.1.wait_ready()
    }

    #[inline]
    fn receive(&mut self) -> Result<usize> {
        self.1.receive()
    }

    fn receive_batch(&mut self, size: usize, max: usize) -> Result<usize> {
        self.1.receive_batch(size, max)
    }
}

/// Answers each request with as many bytes as it has.
pub struct RingServer {
    requests: RingReceiver,
    replies: RingSender,
    body: Vec<u8>,
}

impl Echoing for RingServer {
    fn wait_ready(&mut self) -> Result<()> {
        self.requests.wait_ready()
    }

    #[inline]
    fn echo(&mut self) -> Result<usize> {
        let size = self.requests.receive()?;
        self.replies.send(&self.body[..size.min(self.body.len())])?;
        Ok(size)
    }

    fn echo_batch(&mut self, size: usize, max: usize) -> Result<usize> {
        let count = self.requests.receive_batch(size, max)?;
        self.replies.send_batch(&self.body, count)?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::{Contender, Opening, RingLimit};
    use crate::sample::Transport;
    use crate::sample::contender::{Component, Echoing, Receiving, Sending};
    use crate::sample::{Calls, CaseName};

    fn check(case: CaseName, transport: Transport, size: usize, message_count: u64) {
        let opening = Opening { case, transport, size, calls: Calls::One, libzmq: "" };
        let limit = RingLimit::open(opening).unwrap();
        let (mut receiver, name) = limit.component().unwrap().bind_receiver(0).unwrap();
        std::thread::scope(|scope| {
            let component = limit.component().unwrap();
            scope.spawn(move || {
                let mut sender = component.connect_sender(&name).unwrap();
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
        let (case, transport) = (CaseName::Echo, Transport::Shm);
        let limit =
            RingLimit::open(Opening { case, transport, size: 8, calls: Calls::One, libzmq: "" }).unwrap();
        let (mut client, endpoint) = limit.component().unwrap().bind_client(0).unwrap();
        let mut server = limit.component().unwrap().connect_server(&endpoint).unwrap();
        client.send(&[7; 8]).unwrap();
        assert_eq!(server.echo().unwrap(), 8);
        assert_eq!(client.receive().unwrap(), 8);
    }
}
