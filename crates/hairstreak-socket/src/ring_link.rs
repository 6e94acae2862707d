//! `RingLink`: one end of an inproc connection. Messages cross as they are, through a ring each way.
//!
//! Like a busy stream, a busy ring gathers: messages become visible in batches. A peer that sleeps
//! gets what is there at once, and its doorbell rung; but one that was woken just now and sleeps again
//! is faster than this side, and waits until more has gathered.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::time::Instant;

use hairstreak_base::ring::{Consumer, Producer};
use hairstreak_base::{BlockPool, Bytes, INLINE_SIZE_MAX, Message, ReadBuffer};
use hairstreak_transport::{GATHER_TIME, Poller};

use crate::outgoing::{Outgoing, Parcel};

/// Messages that gather before they are published to a peer that is awake.
const BATCH_COUNT: usize = 128;
/// Messages that gather before a peer is woken that was woken just now.
const HELD_COUNT: usize = 2048;
/// Bytes that gather before they are published, whatever the peer does.
const BATCH_BYTES: usize = 64 * 1024;
/// Bodies that are shared cost nothing to gather: this part of what the marks allow does.
const SHARED_BATCH_PART: usize = 8;

/// How to wake an engine: whether anybody sleeps there, and the poller they sleep on. On lines of its own:
/// other threads read it at every message.
#[repr(align(128))]
#[derive(Debug)]
pub(crate) struct Doorbell {
    pub poller: Poller,
    /// Set by whoever is about to sleep and cares for rings; taken by whoever wakes them.
    pub sleeping: AtomicBool,
}

impl Doorbell {
    /// Call after a store that a sleeper should see: once a batch, so that a full fence is no matter.
    /// Returns whether somebody was woken.
    #[inline]
    pub fn ring(&self) -> bool {
        fence(Ordering::SeqCst);
        let sleeps = self.sleeping.load(Ordering::Relaxed) && self.sleeping.swap(false, Ordering::Relaxed);
        if sleeps {
            self.poller.wake();
        }
        sleeps
    }

    /// The sleeper's half: after this, either its next look sees the store or it will be woken.
    pub fn announce_sleep(&self) {
        self.sleeping.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }
}

/// High-water marks of one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    pub count_max: usize,
    pub count_low: usize,
    pub bytes_max: usize,
    pub bytes_low: usize,
}

/// On lines of its own: both ends are allocated one after the other and written at every message.
#[repr(align(128))]
pub(crate) struct RingLink {
    outgoing: Option<Producer>,
    incoming: Option<Consumer>,
    /// What had come when the link ended.
    left: Left,
    peer: Arc<Doorbell>,
    marks: Marks,
    /// How many may have been put in, in all, before another cannot simply join those that gather: the batch would be full, or
    /// the marks reached as far as was seen. 0 when nothing gathers.
    join_end: usize,
    /// Messages, and bytes, taken before their room is given back, unless the ring is found dry first:
    /// within the producer's low-water marks, so that a ring that is empty never looks full.
    release_count_step: usize,
    release_bytes_step: usize,
    /// How many will have been taken in all when room is next given back.
    release_count: usize,
    release_bytes: usize,
    /// Messages taken when the engine last asked for its traffic.
    traffic_seen: usize,
    bytes_in: usize,
    bytes_out: usize,
    /// When the peer was last woken from here.
    last_wake: Option<Instant>,
    /// Whether messages gather for a peer that sleeps.
    holds: bool,
    /// Which pause of this side's callers it was behind which something was last put in. What comes first behind a pause
    /// is a question or an answer, perhaps, that nobody should wait for.
    pause: u64,
    /// What `bytes_in` was when messages were last published.
    bytes_published: usize,
    /// Where bodies of middling size are copied: one allocation for many.
    arena: ReadBuffer,
}

impl RingLink {
    pub fn new(
        outgoing: Option<Producer>,
        incoming: Option<Consumer>,
        peer: Arc<Doorbell>,
        marks: Marks,
        peer_marks: Marks,
        pool: &Arc<BlockPool>,
    ) -> RingLink {
        let release_bytes = (peer_marks.bytes_max / 4).min(peer_marks.bytes_low).max(1);
        let release_count =
            (peer_marks.count_max / 4).min(peer_marks.count_low).min(release_bytes / INLINE_SIZE_MAX).max(1);
        RingLink {
            outgoing,
            incoming,
            left: Left::default(),
            peer,
            marks,
            join_end: 0,
            release_count_step: release_count,
            release_bytes_step: release_bytes,
            release_count,
            release_bytes,
            traffic_seen: 0,
            bytes_in: 0,
            bytes_out: 0,
            last_wake: None,
            holds: false,
            pause: u64::MAX,
            bytes_published: 0,
            arena: ReadBuffer::new(pool),
        }
    }

    /// Puts the message in, without its first `skip_frames`; false when the marks do not allow it. `pause`: how often
    /// callers of this side have had nothing left to do.
    #[inline]
    pub fn push(&mut self, message: &Outgoing<'_>, skip_frames: usize, pause: u64) -> bool {
        let Some(ring) = &mut self.outgoing else { return false };
        let shared = match message {
            Outgoing::Message(message) if skip_frames == 0 => message.as_single(),
            _ => None,
        };
        let (pushed, size) = match message {
            _ if let Some(frame) = shared => (ring.share_frame(frame), frame.size()),
            Outgoing::Body(body) if body.len() <= INLINE_SIZE_MAX => (ring.push_short(body), body.len()),
            Outgoing::Body(body) => (ring.push_frame(self.arena.copy_of(body)).is_ok(), body.len()),
            other => {
                let message = to_message(&mut self.arena, other, skip_frames);
                let size = message.size();
                (ring.push(message).is_ok(), size)
            }
        };
        if !pushed {
            return false;
        }
        self.bytes_in += size;
        let gathered = ring.unpublished();
        let is_first = std::mem::replace(&mut self.pause, pause) != pause;
        if is_first {
            self.last_wake = None;
        }
        let batch_bytes = match shared {
            Some(_) => shared_batch_bytes(&self.marks),
            None => BATCH_BYTES,
        };
        if self.bytes_in - self.bytes_published >= batch_bytes {
            self.publish();
        } else if self.peer.sleeping.load(Ordering::Relaxed) {
            self.publish_unless_held();
        } else if gathered >= BATCH_COUNT || is_first {
            self.publish();
        }
        self.find_join_end();
        true
    }

    /// As [`RingLink::push`], with the parcel's envelope in front.
    pub fn push_parcel(&mut self, parcel: &Parcel<'_>, pause: u64) -> bool {
        if parcel.envelope.is_empty() {
            return self.push(parcel.message, parcel.skip_frames, pause);
        }
        let body = to_message(&mut self.arena, parcel.message, parcel.skip_frames);
        let whole: Message = parcel.envelope.iter().chain(body.as_frames()).cloned().collect();
        self.push(&Outgoing::Message(&whole), 0, pause)
    }

    /// The peer sleeps: it is woken, unless it was just now and too little has gathered since.
    #[cold]
    fn publish_unless_held(&mut self) {
        let gathered = self.outgoing.as_ref().map_or(0, Producer::unpublished);
        self.holds = match self.holds {
            true => gathered < HELD_COUNT,
            false => self.last_wake.is_some_and(|last| last.elapsed() < GATHER_TIME),
        };
        if !self.holds {
            self.publish();
        }
    }

    /// Puts a short body in if it can simply join others that gather already: the marks allow it as far
    /// as they were last looked at, the batch is not full, and the peer is awake or can wait.
    #[inline(always)]
    pub fn push_gathering(&mut self, body: &[u8]) -> bool {
        if body.len() > INLINE_SIZE_MAX || !self.may_join() {
            return false;
        }
        let Some(ring) = &mut self.outgoing else { return false };
        if !ring.push_short(body) {
            return false;
        }
        self.bytes_in += body.len();
        true
    }

    /// As [`RingLink::push_gathering`], for as many of these, from the first on, as can join. Returns how many.
    #[inline]
    pub fn push_gathering_many(&mut self, messages: &[Outgoing<'_>]) -> usize {
        if !self.may_join() {
            return 0;
        }
        let Some(ring) = &mut self.outgoing else { return 0 };
        let room = self.join_end - ring.accepted_count();
        let mut bytes = self.bytes_in;
        let joins = |message: &&Outgoing<'_>| {
            let Outgoing::Body(body) = message else { return false };
            let joins = body.len() <= INLINE_SIZE_MAX && ring.push_short(body);
            bytes += if joins { body.len() } else { 0 };
            joins
        };
        let count = messages.iter().take(room).take_while(joins).count();
        self.bytes_in = bytes;
        count
    }

    /// As [`RingLink::push_gathering`], sharing the bytes.
    #[inline]
    pub fn share_gathering(&mut self, frame: &Bytes) -> bool {
        let gathered = self.bytes_in - self.bytes_published + frame.size();
        if gathered >= shared_batch_bytes(&self.marks)
            || self.bytes_in - self.bytes_out >= self.marks.bytes_max
            || !self.may_join()
        {
            return false;
        }
        let Some(ring) = &mut self.outgoing else { return false };
        if !ring.share_frame(frame) {
            return false;
        }
        self.bytes_in += frame.size();
        true
    }

    /// Whether another can simply join those that gather already: a short one, as far as bytes are concerned.
    #[inline(always)]
    fn may_join(&self) -> bool {
        let Some(ring) = &self.outgoing else { return false };
        ring.accepted_count() < self.join_end && (!self.peer.sleeping.load(Ordering::Relaxed) || self.holds)
    }

    /// Call when anything has changed that [`RingLink::may_join`] depends on.
    #[inline]
    fn find_join_end(&mut self) {
        let Some(ring) = &self.outgoing else { return self.join_end = 0 };
        let (count, gathering) = (ring.accepted_count(), ring.unpublished());
        let batch_count = if self.holds { HELD_COUNT } else { BATCH_COUNT };
        let bytes_left = self.marks.bytes_max.saturating_sub(self.bytes_in - self.bytes_out);
        let room = (self.marks.count_max.saturating_sub(ring.occupied()))
            .min(batch_count.saturating_sub(gathering + 1))
            .min(bytes_left.div_ceil(INLINE_SIZE_MAX));
        self.join_end = if gathering > 0 { count + room } else { 0 };
    }

    /// Whether the marks allow another message.
    #[inline]
    pub fn has_room(&mut self) -> bool {
        let Some(ring) = &mut self.outgoing else { return false };
        if ring.occupied() < self.marks.count_max && self.bytes_in - self.bytes_out < self.marks.bytes_max {
            return true;
        }
        let (count, taken) = ring.look();
        self.bytes_out = taken;
        if count >= self.marks.count_max || self.bytes_in - taken >= self.marks.bytes_max {
            // The peer cannot make room for what it does not see.
            self.publish();
            return false;
        }
        true
    }

    /// Messages put in so far.
    pub fn accepted_count(&self) -> usize {
        self.outgoing.as_ref().map_or(0, Producer::accepted_count)
    }

    /// Bytes of bodies put in, and taken out, so far.
    pub fn byte_counts(&self) -> (u64, u64) {
        let taken = self.incoming.as_ref().map_or(self.left.taken_bytes, Consumer::taken_bytes);
        (self.bytes_in as u64, taken as u64)
    }

    /// Messages and bytes put in and not taken out.
    pub fn queued(&mut self) -> (usize, usize) {
        let Some(ring) = &mut self.outgoing else { return (0, 0) };
        let (count, taken) = ring.look();
        self.bytes_out = taken;
        (count, self.bytes_in - taken)
    }

    /// Whether this end sends and the low-water marks allow it.
    pub fn is_low(&mut self) -> bool {
        let (count, bytes) = self.queued();
        self.outgoing.is_some() && count <= self.marks.count_low && bytes <= self.marks.bytes_low
    }

    #[inline]
    pub fn is_gathering(&self) -> bool {
        self.outgoing.as_ref().is_some_and(|ring| ring.unpublished() > 0)
    }

    pub fn publish(&mut self) {
        if let Some(ring) = &mut self.outgoing
            && ring.unpublished() > 0
        {
            ring.publish();
            (self.holds, self.bytes_published, self.join_end) = (false, self.bytes_in, 0);
            if self.peer.ring() {
                self.last_wake = Some(Instant::now());
            }
        }
    }

    /// Puts the next message, if one is visible, into `into`.
    pub fn pop(&mut self, into: &mut Message) -> bool {
        let Some(ring) = &mut self.incoming else { return self.left.pop(into) };
        let popped = ring.pop(into);
        if !popped || self.is_room_due() {
            self.release();
        }
        popped
    }

    /// Takes the next message if it has one frame and is seen already.
    #[inline(always)]
    pub fn take_ready(&mut self, into: &mut Message) -> bool {
        let Some(ring) = &mut self.incoming else { return false };
        if !ring.pop_short(into) {
            return self.take_ready_at_length(into);
        }
        if ring.taken_count() >= self.release_count || ring.taken_bytes() >= self.release_bytes {
            self.release();
        }
        true
    }

    #[inline(never)]
    fn take_ready_at_length(&mut self, into: &mut Message) -> bool {
        let popped = self.incoming.as_mut().is_some_and(|ring| ring.pop_single(into));
        if popped && self.is_room_due() {
            self.release();
        }
        popped
    }

    /// As [`RingLink::take_ready`], of up to `max` messages and until there are `bytes_max` bytes, appended to `into`.
    /// Returns how many bytes.
    pub fn take_ready_many(&mut self, into: &mut Vec<Message>, max: usize, bytes_max: usize) -> usize {
        let (end, mut bytes) = (into.len().saturating_add(max), 0);
        while into.len() < end && bytes < bytes_max {
            // Written where it is wanted.
            into.push(Message::new());
            let taken = into.last_mut().is_some_and(|message| {
                let taken = self.take_ready(message);
                bytes += message.size();
                taken
            });
            if !taken {
                into.pop();
                break;
            }
        }
        bytes
    }

    /// Whether so much has been taken that its room must go back now.
    #[inline]
    fn is_room_due(&self) -> bool {
        self.incoming.as_ref().is_some_and(|ring| {
            ring.taken_count() >= self.release_count || ring.taken_bytes() >= self.release_bytes
        })
    }

    #[cold]
    fn release(&mut self) {
        if let Some(ring) = &mut self.incoming
            && ring.unreleased() > 0
        {
            ring.release();
            self.release_count = ring.taken_count() + self.release_count_step;
            self.release_bytes = ring.taken_bytes() + self.release_bytes_step;
            self.peer.ring();
        }
    }

    /// Messages taken since this was last asked.
    pub fn take_traffic(&mut self) -> usize {
        let Some(ring) = &self.incoming else { return 0 };
        let taken = ring.taken_count();
        taken - std::mem::replace(&mut self.traffic_seen, taken)
    }

    /// How far what has come reaches, and what of it was taken.
    pub fn positions_in(&self) -> (u64, u64) {
        let (came, taken) = self.incoming.as_ref().map_or(self.left.positions, Consumer::positions);
        (came as u64, taken as u64)
    }

    #[inline]
    pub fn has_messages(&self) -> bool {
        self.incoming.as_ref().map_or(!self.left.messages.is_empty(), |ring| !ring.is_empty())
    }

    /// Whether the last look showed messages that are still to be taken.
    pub fn has_seen_messages(&self) -> bool {
        self.incoming.as_ref().is_some_and(|ring| !ring.is_drained())
    }

    /// Whether the peer is gone; messages of it may be left.
    pub fn is_gone(&self) -> bool {
        let in_over = self.incoming.as_ref().is_none_or(Consumer::is_closed);
        let out_over = self.outgoing.as_ref().is_none_or(Producer::is_closed);
        in_over && out_over
    }

    /// Whether the peer is gone and nothing of it is left.
    pub fn is_over(&self) -> bool {
        self.is_gone() && !self.has_messages()
    }

    /// Nothing more is sent, nothing more comes, and the counters begin anew. Returns how many messages have come and are
    /// left to be taken: to the peer they are.
    pub fn end(&mut self) -> usize {
        self.outgoing = None;
        (self.bytes_in, self.bytes_out, self.join_end) = (0, 0, 0);
        if let Some(ring) = self.incoming.take() {
            self.left = Left::of(ring);
        }
        self.peer.poller.wake();
        self.left.messages.len()
    }
}

/// What had come over a ring that is there no more, at most as much as lay in it.
#[derive(Debug, Default)]
struct Left {
    /// Each with the position behind it.
    messages: VecDeque<(Message, usize)>,
    /// As of the ring: how far its producer had published, and how far what was taken reaches.
    positions: (usize, usize),
    taken_bytes: usize,
}

impl Left {
    fn of(mut ring: Consumer) -> Left {
        let taken = ring.positions().1;
        let mut messages = VecDeque::new();
        let mut message = Message::new();
        while ring.pop(&mut message) {
            messages.push_back((std::mem::take(&mut message), ring.positions().1));
        }
        Left { messages, positions: (ring.positions().1, taken), taken_bytes: 0 }
    }

    fn pop(&mut self, into: &mut Message) -> bool {
        let Some((message, position)) = self.messages.pop_front() else { return false };
        self.positions.1 = position;
        self.taken_bytes += message.size();
        *into = message;
        true
    }
}

fn shared_batch_bytes(marks: &Marks) -> usize {
    BATCH_BYTES.max(marks.bytes_max / SHARED_BATCH_PART)
}

fn to_message(arena: &mut ReadBuffer, message: &Outgoing<'_>, skip: usize) -> Message {
    match message {
        Outgoing::Body(body) => arena.copy_of(body).into(),
        Outgoing::Frames(frames) => frames.iter().skip(skip).map(|frame| arena.copy_of(frame)).collect(),
        Outgoing::Message(message) if skip == 0 => (*message).clone(),
        Outgoing::Message(message) => message.as_frames().iter().skip(skip).cloned().collect(),
        Outgoing::Headed { head, body } => {
            let head: Vec<Bytes> = head.iter().map(|frame| arena.copy_of(frame)).collect();
            head.into_iter().chain(body.iter().cloned()).skip(skip).collect()
        }
    }
}

impl Drop for RingLink {
    fn drop(&mut self) {
        (self.outgoing, self.incoming) = (None, None);
        // Whoever drives the peer's engine has to end its half, sleeping for rings or not.
        self.peer.poller.wake();
    }
}
