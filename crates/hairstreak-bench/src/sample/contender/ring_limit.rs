//! The limit of inproc: a ring between two threads, its positions published per message or per batch call.
//!
//! It copies each body into the ring and hands nothing on: no patterns, no peers, no ownership of what was received.
//! The slots are atomic words, so it needs no unsafe code; a relaxed store costs what a plain one does. In the
//! throughput case both ends spin; in a round trip the receiver parks (a futex), as an application's thread would.
//!
//! Invariants: `published - consumed` never exceeds `slot_count`; only the sender writes `published` and the slots
//! between the two, only the receiver writes `consumed`.

use std::collections::HashMap;
use std::hint;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};

use super::contract::{
    Component, Contender, ContenderError, Echoing, Opening, Receiving, Sending, wrong_size,
};
use crate::sample::{Calls, CaseName};

const WORD_SIZE: usize = size_of::<u64>();
const RING_SIZE: usize = 256 * 1024;
/// What an echo has under way fits, or both ends would wait for room.
const RING_SIZE_ECHO: usize = 4 << 20;
const SLOT_COUNT_MIN: usize = 4;
const SLOT_COUNT_MAX: usize = 8192;
const SPIN_COUNT: u32 = 200;

/// The rings of a process by name.
pub struct RingLimit {
    rings: Rings,
    slot_size: usize,
    ring_size: usize,
    is_parking: bool,
}

type Rings = Arc<Mutex<HashMap<String, Arc<Ring>>>>;

impl Contender for RingLimit {
    type Component = RingComponent;

    fn open(opening: Opening<'_>) -> Result<Self, ContenderError> {
        let is_parking = opening.case == CaseName::RoundTrip && opening.calls != Calls::Spin;
        let ring_size = if opening.case == CaseName::Echo { RING_SIZE_ECHO } else { RING_SIZE };
        let slot_size = if opening.calls == Calls::Handle { WORD_SIZE } else { opening.size };
        Ok(Self { rings: Rings::default(), slot_size, ring_size, is_parking })
    }

    fn component(&self) -> Result<RingComponent, ContenderError> {
        Ok(RingComponent {
            rings: Arc::clone(&self.rings),
            slot_size: self.slot_size,
            ring_size: self.ring_size,
            is_parking: self.is_parking,
        })
    }
}

/// The rings as one thread sees them.
pub struct RingComponent {
    rings: Rings,
    slot_size: usize,
    ring_size: usize,
    is_parking: bool,
}

impl RingComponent {
    fn bind(&self, number: usize) -> (Arc<Ring>, String) {
        let ring = Arc::new(Ring::new(self.slot_size, self.ring_size, self.is_parking));
        let name = name_of(number);
        let mut rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        rings.insert(name.clone(), Arc::clone(&ring));
        (ring, name)
    }

    fn connect(&self, name: &str) -> Result<Arc<Ring>, ContenderError> {
        let rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        rings.get(name).cloned().ok_or_else(|| ContenderError::UnknownEndpoint(name.to_owned()))
    }
}

impl Component for RingComponent {
    type Sender = RingSender;
    type Receiver = RingReceiver;
    type Subscriber = RingReceiver;
    type Publisher = RingPublisher;
    type Client = RingClient;
    type Server = RingServer;

    fn bind_receiver(&self, number: usize) -> Result<(RingReceiver, String), ContenderError> {
        let (ring, name) = self.bind(number);
        Ok((RingReceiver::new(ring), name))
    }

    fn bind_sender(&self, number: usize) -> Result<(RingSender, String), ContenderError> {
        let (ring, name) = self.bind(number);
        Ok((RingSender::new(ring), name))
    }

    fn connect_receiver(&self, endpoint: &str) -> Result<RingReceiver, ContenderError> {
        Ok(RingReceiver::new(self.connect(endpoint)?))
    }

    fn connect_sender(&self, endpoint: &str) -> Result<RingSender, ContenderError> {
        Ok(RingSender::new(self.connect(endpoint)?))
    }

    fn bind_subscriber(&self, number: usize) -> Result<(RingReceiver, String), ContenderError> {
        self.bind_receiver(number)
    }

    fn connect_publisher(&self, endpoints: &[String]) -> Result<RingPublisher, ContenderError> {
        let senders: Result<_, _> = endpoints.iter().map(|name| self.connect_sender(name)).collect();
        Ok(RingPublisher(senders?))
    }

    /// The ring towards the client has the next number.
    fn bind_client(&self, number: usize) -> Result<(RingClient, String), ContenderError> {
        let (requests, name) = self.bind(2 * number);
        let (replies, _) = self.bind(2 * number + 1);
        Ok((RingClient(RingSender::new(requests), RingReceiver::new(replies)), name))
    }

    fn connect_server(&self, endpoint: &str) -> Result<RingServer, ContenderError> {
        let number = endpoint.strip_prefix(NAME_START).and_then(|number| number.parse::<usize>().ok());
        let unknown = || ContenderError::UnknownEndpoint(endpoint.to_owned());
        let replies = self.connect(&name_of(number.ok_or_else(unknown)? + 1))?;
        let body = vec![b'h'; self.slot_size];
        Ok(RingServer {
            requests: RingReceiver::new(self.connect(endpoint)?),
            replies: RingSender::new(replies),
            body,
        })
    }
}

const NAME_START: &str = "ring-";

fn name_of(number: usize) -> String {
    format!("{NAME_START}{number}")
}

/// A position on cache lines of its own.
#[repr(align(128))]
struct Position(AtomicU64);

struct Ring {
    published: Position,
    consumed: Position,
    /// Per slot: the size of the body in bytes, then its words.
    words: Box<[AtomicU64]>,
    slot_words: usize,
    slot_count: u64,
    /// The receiver, once it is there, if it parks.
    receiver: OnceLock<Thread>,
    is_parking: bool,
}

impl Ring {
    fn new(slot_size: usize, ring_size: usize, is_parking: bool) -> Self {
        let slot_words = 1 + slot_size.div_ceil(WORD_SIZE);
        let fitting = ring_size / (slot_words * WORD_SIZE);
        let slot_count = fitting.clamp(SLOT_COUNT_MIN, SLOT_COUNT_MAX).next_power_of_two();
        Self {
            published: Position(AtomicU64::new(0)),
            consumed: Position(AtomicU64::new(0)),
            words: (0..slot_words * slot_count).map(|_| AtomicU64::new(0)).collect(),
            slot_words,
            slot_count: slot_count as u64,
            receiver: OnceLock::new(),
            is_parking,
        }
    }

    fn slot(&self, position: u64) -> &[AtomicU64] {
        let index = (position & (self.slot_count - 1)) as usize;
        &self.words[index * self.slot_words..(index + 1) * self.slot_words]
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
    ring: Arc<Ring>,
    next: u64,
    consumed: u64,
}

impl RingSender {
    fn new(ring: Arc<Ring>) -> Self {
        Self { ring, next: 0, consumed: 0 }
    }

    #[inline]
    fn write(&mut self, body: &[u8], size: usize) {
        if self.next - self.consumed == self.ring.slot_count {
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
            self.consumed = self.ring.consumed.0.load(Ordering::Acquire);
            if self.next - self.consumed < self.ring.slot_count {
                return;
            }
            pause(&mut turn);
        }
    }

    #[inline]
    fn publish(&self) {
        self.ring.published.0.store(self.next, Ordering::Release);
        if self.ring.is_parking {
            // Pairs with the fence in `wait_ready`: either the receiver sees this position or we see the receiver.
            fence(Ordering::SeqCst);
            if let Some(receiver) = self.ring.receiver.get() {
                receiver.unpark();
            }
        }
    }
}

impl Sending for RingSender {
    fn wait_ready(&mut self) -> Result<(), ContenderError> {
        Ok(())
    }

    #[inline]
    fn send(&mut self, body: &[u8]) -> Result<(), ContenderError> {
        self.write(body, body.len());
        self.publish();
        Ok(())
    }

    fn send_batch(&mut self, body: &[u8], count: usize) -> Result<(), ContenderError> {
        for _ in 0..count {
            self.write(body, body.len());
        }
        self.publish();
        Ok(())
    }

    /// A word stands for the body: the slots are that wide.
    fn send_handles(&mut self, body: &[u8], count: u64) -> Result<(), ContenderError> {
        for _ in 0..count {
            self.write(&[0; WORD_SIZE], body.len());
            self.publish();
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ContenderError> {
        Ok(())
    }
}

/// The receiving end.
pub struct RingReceiver {
    ring: Arc<Ring>,
    next: u64,
    published: u64,
}

impl RingReceiver {
    fn new(ring: Arc<Ring>) -> Self {
        Self { ring, next: 0, published: 0 }
    }

    #[cold]
    fn wait_for_message(&mut self) {
        let mut turn = 0;
        loop {
            self.published = self.ring.published.0.load(Ordering::Acquire);
            if self.published != self.next {
                return;
            }
            match self.ring.is_parking {
                true => thread::park(),
                false => pause(&mut turn),
            }
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
        self.ring.consumed.0.store(self.next, Ordering::Release);
    }
}

impl Receiving for RingReceiver {
    /// Says who is to be woken; the thread that waits here is the one that receives.
    fn wait_ready(&mut self) -> Result<(), ContenderError> {
        self.ring.receiver.get_or_init(thread::current);
        fence(Ordering::SeqCst);
        Ok(())
    }

    #[inline]
    fn receive(&mut self) -> Result<usize, ContenderError> {
        if self.next == self.published {
            self.wait_for_message();
        }
        let size = self.read();
        self.release();
        Ok(size)
    }

    fn receive_batch(&mut self, size: usize, max: usize) -> Result<usize, ContenderError> {
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
    fn wait_ready(&mut self) -> Result<(), ContenderError> {
        Ok(())
    }

    #[inline]
    fn send(&mut self, body: &[u8]) -> Result<(), ContenderError> {
        self.0.iter_mut().try_for_each(|sender| sender.send(body))
    }

    fn send_batch(&mut self, body: &[u8], count: usize) -> Result<(), ContenderError> {
        self.0.iter_mut().try_for_each(|sender| sender.send_batch(body, count))
    }

    fn flush(&mut self) -> Result<(), ContenderError> {
        Ok(())
    }
}

/// Requests go out over one ring, replies come back over another.
pub struct RingClient(RingSender, RingReceiver);

impl Sending for RingClient {
    fn wait_ready(&mut self) -> Result<(), ContenderError> {
        Ok(())
    }

    #[inline]
    fn send(&mut self, body: &[u8]) -> Result<(), ContenderError> {
        self.0.send(body)
    }

    fn send_batch(&mut self, body: &[u8], count: usize) -> Result<(), ContenderError> {
        self.0.send_batch(body, count)
    }

    fn flush(&mut self) -> Result<(), ContenderError> {
        Ok(())
    }
}

impl Receiving for RingClient {
    fn wait_ready(&mut self) -> Result<(), ContenderError> {
        self.1.wait_ready()
    }

    #[inline]
    fn receive(&mut self) -> Result<usize, ContenderError> {
        self.1.receive()
    }

    fn receive_batch(&mut self, size: usize, max: usize) -> Result<usize, ContenderError> {
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
    fn wait_ready(&mut self) -> Result<(), ContenderError> {
        self.requests.wait_ready()
    }

    #[inline]
    fn echo(&mut self) -> Result<usize, ContenderError> {
        let size = self.requests.receive()?;
        self.replies.send(&self.body[..size.min(self.body.len())])?;
        Ok(size)
    }

    fn echo_batch(&mut self, size: usize, max: usize) -> Result<usize, ContenderError> {
        let count = self.requests.receive_batch(size, max)?;
        self.replies.send_batch(&self.body, count)?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::{Contender, Opening, RingLimit};
    use crate::sample::Transport;
    use crate::sample::contender::{Component, Receiving, Sending};
    use crate::sample::{Calls, CaseName};

    fn check(case: CaseName, size: usize, message_count: u64) {
        let opening = Opening { case, transport: Transport::Inproc, size, calls: Calls::One, libzmq: "" };
        let limit = RingLimit::open(opening).unwrap();
        let (mut receiver, name) = limit.component().unwrap().bind_receiver(0).unwrap();
        std::thread::scope(|scope| {
            let component = limit.component().unwrap();
            scope.spawn(move || {
                let mut sender = component.connect_sender(&name).unwrap();
                (0..message_count).for_each(|_| sender.send(&vec![7; size]).unwrap());
            });
            receiver.wait_ready().unwrap();
            for _ in 0..message_count {
                assert_eq!(receiver.receive().unwrap(), size);
            }
        });
    }

    #[test]
    fn a_spinning_ring_passes_more_messages_than_it_has_slots() {
        check(CaseName::Throughput, 8, 50_000);
    }

    #[test]
    fn a_parking_ring_misses_no_wake_up() {
        check(CaseName::RoundTrip, 8, 20_000);
    }

    #[test]
    fn sizes_that_are_no_whole_words_arrive() {
        check(CaseName::Throughput, 13, 1000);
        check(CaseName::Throughput, 1, 1000);
    }
}
