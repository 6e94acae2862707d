//! `OutgoingBuffer`: frames are encoded into it once, and written from it.
//!
//! Small bodies are copied behind their header into a segment. A large shared body stays in place and becomes an
//! element of the sequence. A write takes as many segments as one vectored call carries. The last segment is written
//! while it still grows.
//!
//! Written segments can be retained ([`OutgoingBuffer::retain`]) until their outcome is known, without a copy
//! ([`retained`](crate::retained)).
//!
//! Appended bytes can be held ([`OutgoingBuffer::hold`]) until a release; see `held`.
//!
//! Invariants: the queue holds no empty segment; `written` counts into the first segment; a header and a copied body
//! are never split between segments. The tail is empty once it is completely written, unless it is retained: then it
//! continues to grow. An empty tail has no memory unless it has to keep it.

mod held;
mod marks;

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::Arc;

use self::marks::Marks;
use crate::bytes::Bytes;
use crate::copy::copy_short;
use crate::framing::Framing;
use crate::pool::BlockPool;
use crate::retained::{Retained, RetainedBytes, RetainedPart};

/// Bytes gathered in one segment, and so the write size of a busy link.
pub const SEGMENT_SIZE: usize = 64 * 1024;

/// Largest content that is copied when one buffer is appended to another, in bytes.
const APPENDED_COPY_MAX: usize = 4096;

/// Number of segments carried by one vectored write.
const SLICES_MAX: usize = 32;

/// Contiguous bytes.
pub(crate) enum Content {
    /// Encoded frames.
    Encoded(Vec<u8>),
    /// The body of the frame whose header ends the previous segment.
    Body(Bytes),
}

pub(crate) struct Segment {
    pub content: Content,
    /// Messages that end in the segment and have not left.
    pub message_count: usize,
    /// The segment may end within a message.
    pub is_open: bool,
}

impl Segment {
    pub fn bytes(&self) -> &[u8] {
        match &self.content {
            Content::Encoded(bytes) => bytes,
            Content::Body(frame) => frame.as_bytes(),
        }
    }
}

/// Encoded frames on their way to one peer.
pub struct OutgoingBuffer {
    pool: Arc<BlockPool>,
    /// Full segments, oldest first.
    queue: VecDeque<Segment>,
    /// The growing segment, behind all of `queue`.
    tail: Vec<u8>,
    tail_count: usize,
    /// The tail ends within a message.
    tail_is_open: bool,
    /// An empty tail keeps its memory.
    keeps_tail: bool,
    /// Written bytes of the first segment (of the queue, else of the tail).
    written: usize,
    /// Bytes in `queue`, including written ones.
    queue_bytes: usize,
    /// Messages that end in `queue`.
    queue_count: usize,
    /// Messages that have left.
    left_count: usize,
    /// Bytes that have left.
    left_bytes: u64,
    retained: Option<Box<Retained>>,
    /// Marks of the bytes that wait for a release. `None` without such bytes.
    marks: Option<Box<Marks>>,
}

impl OutgoingBuffer {
    /// Creates an empty buffer.
    pub fn new(pool: &Arc<BlockPool>) -> OutgoingBuffer {
        OutgoingBuffer {
            pool: Arc::clone(pool),
            queue: VecDeque::new(),
            tail: Vec::new(),
            tail_count: 0,
            tail_is_open: false,
            keeps_tail: false,
            written: 0,
            queue_bytes: 0,
            queue_count: 0,
            left_count: 0,
            left_bytes: 0,
            retained: None,
            marks: None,
        }
    }

    /// Returns whether everything has been written.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue_bytes + self.tail.len() == self.written
    }

    /// Returns the number of bytes not yet written.
    #[inline]
    pub fn queued_bytes(&self) -> usize {
        self.queue_bytes + self.tail.len() - self.written
    }

    /// Returns the number of messages not yet completely written. All messages of a segment are counted as written
    /// together.
    #[inline]
    pub fn queued_count(&self) -> usize {
        self.queue_count + self.tail_count
    }

    /// Counts bytes written past this buffer, and `count` messages that ended with them.
    pub fn count_written(&mut self, bytes: usize, count: usize) {
        self.left_bytes += bytes as u64;
        self.left_count += count;
    }

    /// Returns the number of bytes written so far, including those past this buffer.
    pub fn written_bytes(&self) -> u64 {
        self.left_bytes
    }

    /// Returns the number of messages accepted so far, written or not, including those written past this buffer.
    pub fn accepted_count(&self) -> usize {
        self.left_count + self.queued_count()
    }

    /// Returns the number of messages of which a part may have been written. All messages of a segment begin
    /// together.
    pub fn begun_count(&self) -> usize {
        let first = self.queue.front().map_or(self.tail_count, |segment| segment.message_count);
        self.left_count + if self.written > 0 { first } else { 0 }
    }

    /// Returns whether a message of `size` bytes, header included, can join the gathering messages. There must be
    /// some, the segment must have room, and the limits must not be reached.
    #[inline(always)]
    pub fn gathers(&self, size: usize, count_max: usize, bytes_max: usize) -> bool {
        let at = self.tail.len();
        self.queue_bytes + at > self.written
            && at + size <= self.tail.capacity().min(SEGMENT_SIZE)
            && self.queued_count() < count_max
            && self.queued_bytes() < bytes_max
    }

    /// Appends a single-frame message behind gathering ones, if possible. Returns whether it did.
    #[inline(always)]
    pub fn push_gathering<const HEADER_SIZE: usize>(
        &mut self,
        header: [u8; HEADER_SIZE],
        body: &[u8],
        count_max: usize,
        bytes_max: usize,
    ) -> bool {
        if !self.gathers(HEADER_SIZE + body.len(), count_max, bytes_max) {
            return false;
        }
        let at = self.tail.len();
        let size = at + HEADER_SIZE + body.len();
        // SAFETY: `size` is within the capacity, as `gathers` checked; the sources are other memory.
        unsafe {
            let to = self.tail.as_mut_ptr().add(at);
            to.cast::<[u8; HEADER_SIZE]>().write(header);
            copy_short(body, to.add(HEADER_SIZE));
            self.tail.set_len(size);
        }
        self.tail_count += 1;
        self.tail_is_open = false;
        true
    }

    /// Drops all unwritten bytes, and the marks of held bytes.
    pub fn clear(&mut self) {
        *self = OutgoingBuffer::new(&self.pool);
    }

    /// Appends a frame's header and a copy of its body. `ends_message`: the frame is the last of its message.
    #[inline]
    pub fn push_copy(&mut self, header: &[u8], body: &[u8], ends_message: bool) {
        let size = header.len() + body.len();
        if self.tail.capacity() - self.tail.len() < size {
            self.next_segment(size);
        }
        let at = self.tail.len();
        // SAFETY: `size` bytes of capacity are free, ensured above; the sources are other memory.
        unsafe {
            let to = self.tail.as_mut_ptr().add(at);
            copy_short(header, to);
            copy_short(body, to.add(header.len()));
            self.tail.set_len(at + size);
        }
        self.tail_count += usize::from(ends_message);
        self.tail_is_open = !ends_message;
    }

    /// Appends one message of at most `size_max` bytes, which `encode` writes behind the waiting ones.
    #[inline]
    pub fn push_with(&mut self, size_max: usize, encode: impl FnOnce(&mut Vec<u8>)) {
        if self.tail.capacity() - self.tail.len() < size_max {
            self.next_segment(size_max);
        }
        let end_max = self.tail.len() + size_max;
        encode(&mut self.tail);
        debug_assert!(self.tail.len() <= end_max, "a message is larger than was said");
        self.tail_count += 1;
        self.tail_is_open = false;
    }

    /// Moves all waiting bytes of `other` behind the bytes here. Large segments change their owner; a few bytes are
    /// copied. `other` must not have written, retained or held anything.
    pub fn append(&mut self, other: &mut OutgoingBuffer) {
        debug_assert!(other.written == 0 && other.retained.is_none() && other.marks.is_none());
        if other.queue.is_empty() && other.tail.len() <= APPENDED_COPY_MAX {
            if !other.tail.is_empty() {
                self.push_copy(&other.tail, &[], !other.tail_is_open);
                self.tail_count += std::mem::take(&mut other.tail_count) - usize::from(!other.tail_is_open);
                other.tail.clear();
            }
            return;
        }
        self.seal_tail_if_any();
        other.seal_tail_if_any();
        self.queue_bytes += std::mem::take(&mut other.queue_bytes);
        self.queue_count += std::mem::take(&mut other.queue_count);
        self.queue.append(&mut other.queue);
    }

    fn seal_tail_if_any(&mut self) {
        if !self.tail.is_empty() {
            self.seal_tail();
        }
    }

    /// Returns the last `size` bytes appended by [`OutgoingBuffer::push_copy`]. None of them may have been written.
    #[inline]
    pub fn last_mut(&mut self, size: usize) -> &mut [u8] {
        let at = self.tail.len() - size;
        debug_assert!(!self.queue.is_empty() || at >= self.written);
        &mut self.tail[at..]
    }

    /// Appends a frame's header, copied, and its body, shared. The body must not be empty.
    pub fn push_shared(&mut self, header: &[u8], body: Bytes, ends_message: bool) {
        self.push_copy(header, &[], false);
        self.seal_tail_if_any();
        let message_count = usize::from(ends_message);
        self.queue_bytes += body.size();
        self.queue_count += message_count;
        self.queue.push_back(Segment { content: Content::Body(body), message_count, is_open: !ends_message });
    }

    #[cold]
    fn next_segment(&mut self, size: usize) {
        self.seal_tail_if_any();
        if size > SEGMENT_SIZE {
            self.tail.reserve(size);
        } else if self.tail.capacity() < size {
            self.tail = self.pool.segment(SEGMENT_SIZE);
        }
    }

    fn seal_tail(&mut self) {
        let content = Content::Encoded(std::mem::take(&mut self.tail));
        let message_count = std::mem::take(&mut self.tail_count);
        let segment = Segment { content, message_count, is_open: self.tail_is_open };
        let size = segment.bytes().len();
        if let Some(retained) = &mut self.retained
            && self.queue.is_empty()
            && self.written == size
        {
            self.written = 0;
            retained.keep(segment, self.left_count);
            return;
        }
        self.queue_bytes += size;
        self.queue_count += message_count;
        self.queue.push_back(segment);
    }

    /// Writes once, with as many bytes as one call carries and may leave. `write` returns the number of bytes that it
    /// took, and is not called if no byte may leave. Returns that number and whether it was all that was offered.
    pub fn write_with(
        &mut self,
        write: impl FnOnce(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<(usize, bool)> {
        let ready = self.ready_bytes();
        if ready == 0 {
            return Ok((0, true));
        }
        if self.queue.is_empty() {
            let taken = write(&[IoSlice::new(&self.tail[self.written..][..ready])])?.min(ready);
            self.advance(taken);
            return Ok((taken, taken == ready));
        }
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let (mut count, mut offered, mut skip) = (0, 0, self.written);
        let segments = self.queue.iter().map(Segment::bytes).chain([self.tail.as_slice()]);
        for (slot, bytes) in slices.iter_mut().zip(segments) {
            let size = (bytes.len() - skip).min(ready - offered);
            *slot = IoSlice::new(&bytes[skip..][..size]);
            offered += size;
            skip = 0;
            count += 1;
            if offered == ready {
                break;
            }
        }
        let taken = write(&slices[..count])?.min(offered);
        self.advance(taken);
        Ok((taken, taken == offered))
    }

    fn advance(&mut self, taken: usize) {
        self.left_bytes += taken as u64;
        self.written += taken;
        while let Some(first) = self.queue.front() {
            let size = first.bytes().len();
            if self.written < size {
                return;
            }
            self.written -= size;
            self.queue_bytes -= size;
            self.queue_count -= first.message_count;
            self.left_count += first.message_count;
            let Some(segment) = self.queue.pop_front() else { return };
            match &mut self.retained {
                Some(retained) if retained.passing == 0 => retained.keep(segment, self.left_count),
                Some(retained) => {
                    retained.passing -= 1;
                    give_back(&self.pool, segment);
                }
                None => give_back(&self.pool, segment),
            }
        }
        if self.written == self.tail.len() {
            self.left_count += std::mem::take(&mut self.tail_count);
            if self.retained.is_none() {
                self.empty_tail();
            }
        }
    }

    /// Empties a tail whose bytes are no longer needed. Its memory serves the next buffer of the pool that needs a
    /// segment: an idle buffer keeps none.
    fn empty_tail(&mut self) {
        self.written = 0;
        if self.tail.capacity() == SEGMENT_SIZE && self.keeps_tail {
            self.tail.clear();
        } else if self.tail.capacity() == SEGMENT_SIZE {
            self.pool.give_segment(std::mem::take(&mut self.tail));
        } else {
            self.tail = Vec::new();
        }
    }

    /// Makes an empty tail keep its memory, until [`OutgoingBuffer::give_tail_back`].
    #[inline]
    pub fn keep_tail(&mut self) {
        self.keeps_tail = true;
    }

    /// Ends [`OutgoingBuffer::keep_tail`]: the memory of an empty tail returns to the pool.
    pub fn give_tail_back(&mut self) {
        self.keeps_tail = false;
        if self.tail.is_empty() && self.tail.capacity() > 0 {
            self.empty_tail();
        }
    }

    /// Retains all bytes appended from now on, until [`OutgoingBuffer::release_through`]. Earlier bytes are not
    /// retained.
    pub fn retain(&mut self) {
        self.seal_tail_if_any();
        let before = self.accepted_count();
        self.retained = Some(Box::new(Retained::new(before, self.queue.len())));
    }

    /// Releases the first `count` messages of all.
    pub fn release_through(&mut self, count: usize) {
        let (all, is_empty) = (self.accepted_count(), self.is_empty());
        let Some(retained) = &mut self.retained else { return };
        let is_all = count == all && is_empty;
        retained.release_through(count, is_all, &self.pool);
        if is_all {
            // All of the tail has left and is released.
            retained.ended = all;
            self.empty_tail();
        }
    }

    /// Frees retained messages that are no longer alive among others that are. Segments without live messages are
    /// freed; the live messages of a sparse segment are copied. `alive` returns the live ones of a range of messages,
    /// counted from 1. Runs only when enough bytes have accumulated since the last compaction.
    pub fn compact<F: Framing>(&mut self, alive: impl Fn(Range<usize>) -> Vec<usize>) {
        if let Some(retained) = &mut self.retained
            && retained.is_compaction_due()
        {
            retained.compact::<F>(&self.pool, alive);
        }
    }

    /// Returns the number of retained bytes that have left, without those of the growing segment.
    pub fn retained_bytes(&self) -> usize {
        self.retained.as_ref().map_or(0, |retained| retained.bytes())
    }

    /// Returns the retained parts, written or not. Messages that were accepted and written past the buffer are
    /// missing.
    pub fn retained(&self) -> Option<impl Iterator<Item = RetainedPart<'_>>> {
        let retained = self.retained.as_ref()?;
        // Messages that left while the first of these segments was still growing are in it and not counted as its
        // own.
        let first_end = self.left_count.max(retained.ended);
        let segments = self.queue.iter().skip(retained.passing);
        let ends = segments.clone().scan(first_end, |end, segment| {
            *end += segment.message_count;
            Some(*end)
        });
        let befores = std::iter::once(retained.ended).chain(ends.clone());
        let queued = segments.zip(befores).map(|(segment, before)| RetainedPart {
            before,
            numbers: None,
            bytes: segment.content.as_retained(),
        });
        let before_tail = ends.last().unwrap_or(retained.ended);
        let tail =
            RetainedPart { before: before_tail, numbers: None, bytes: RetainedBytes::Encoded(&self.tail) };
        Some(retained.parts().chain(queued).chain([tail]))
    }
}

impl Content {
    pub fn as_retained(&self) -> RetainedBytes<'_> {
        match self {
            Content::Encoded(bytes) => RetainedBytes::Encoded(bytes),
            Content::Body(frame) => RetainedBytes::Body(frame),
        }
    }
}

pub(crate) fn give_back(pool: &BlockPool, segment: Segment) {
    if let Content::Encoded(bytes) = segment.content
        && bytes.capacity() == SEGMENT_SIZE
    {
        pool.give_segment(bytes);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Pushes frames of many sizes, writes at most `step` bytes at a time, and compares the stream.
    fn check(step: usize) {
        let mut buffer = OutgoingBuffer::new(&BlockPool::new());
        let (mut expected, mut got) = (Vec::new(), Vec::new());
        for i in 0..300usize {
            let body = vec![i as u8; (i * 977) % 9000];
            let header = [i as u8, 7];
            expected.extend_from_slice(&header);
            expected.extend_from_slice(&body);
            if i % 5 == 0 {
                buffer.push_shared(&header, Bytes::from_vec(body), true);
            } else {
                buffer.push_copy(&header, &body, true);
            }
            if i % 3 == 0 {
                drain_once(&mut buffer, &mut got, step);
            }
        }
        while !buffer.is_empty() {
            drain_once(&mut buffer, &mut got, step);
        }
        assert_eq!(got, expected);
        assert_eq!((buffer.queued_bytes(), buffer.queued_count()), (0, 0));
    }

    fn drain_once(buffer: &mut OutgoingBuffer, into: &mut Vec<u8>, step: usize) {
        let before = buffer.queued_bytes();
        let (taken, _) = buffer
            .write_with(|slices| {
                let all = slices.iter().map(|slice| &**slice).collect::<Vec<_>>().concat();
                let taken = all.len().min(step);
                into.extend_from_slice(&all[..taken]);
                Ok(taken)
            })
            .unwrap();
        assert_eq!(buffer.queued_bytes(), before - taken);
    }

    #[test]
    fn the_stream_is_the_same_however_it_is_torn() {
        for step in [1000, 4096, 65_536, usize::MAX] {
            check(step);
        }
    }

    #[test]
    fn messages_of_a_segment_begin_together() {
        let mut buffer = OutgoingBuffer::new(&BlockPool::new());
        (0..3u8).for_each(|number| buffer.push_copy(&[0, 1], &[number], true));
        assert_eq!(buffer.begun_count(), 0);
        let mut got = Vec::new();
        drain_once(&mut buffer, &mut got, 2);
        assert_eq!((buffer.begun_count(), buffer.queued_count()), (3, 3));
        drain_once(&mut buffer, &mut got, usize::MAX);
        buffer.push_copy(&[0, 1], &[3], true);
        assert_eq!((buffer.begun_count(), buffer.queued_count()), (3, 1));
    }

    #[test]
    fn gathering_needs_company_room_and_a_count_below_the_mark() {
        let mut buffer = OutgoingBuffer::new(&BlockPool::new());
        assert!(!buffer.push_gathering([0, 1], b"x", 10, 100));
        buffer.push_copy(&[0, 1], b"x", true);
        assert!(buffer.push_gathering([0, 1], b"y", 2, 100));
        assert!(!buffer.push_gathering([0, 1], b"z", 2, 100), "the count is at its mark");
        assert!(!buffer.push_gathering([0, 1], b"z", 3, 6), "the bytes are at theirs");
        let mut count = 2;
        while buffer.push_gathering([0, 200], &[7; 200], usize::MAX, usize::MAX) {
            count += 1;
        }
        assert_eq!(buffer.queued_bytes(), 6 + (count - 2) * 202);
        assert!(buffer.queued_bytes() + 202 > SEGMENT_SIZE);
    }

    #[test]
    fn the_last_bytes_can_be_changed_in_place_however_many_segments_there_are() {
        let mut buffer = OutgoingBuffer::new(&BlockPool::new());
        let mut expected = Vec::new();
        for i in 0..100u8 {
            buffer.push_copy(&[i, 7], &[i; 3000], true);
            buffer.last_mut(3000).fill(i + 1);
            expected.extend([i, 7]);
            expected.extend_from_slice(&[i + 1; 3000]);
        }
        let mut got = Vec::new();
        while !buffer.is_empty() {
            drain_once(&mut buffer, &mut got, 50_000);
        }
        assert_eq!(got, expected);
    }

    /// Returns the retained bytes, concatenated, and the number of messages that ended before them.
    fn retained_stream(buffer: &OutgoingBuffer) -> (usize, Vec<u8>) {
        let mut parts = buffer.retained().unwrap().peekable();
        let before = parts.peek().unwrap().before;
        let bytes = parts.flat_map(|part| match part.bytes {
            RetainedBytes::Encoded(bytes) => bytes.to_vec(),
            RetainedBytes::Body(frame) => frame.as_bytes().to_vec(),
        });
        (before, bytes.collect())
    }

    /// Pushes messages, writes and releases at random, and compares the stream and its retained part.
    fn check_retained(seed: u64) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut buffer = OutgoingBuffer::new(&BlockPool::new());
        let (mut expected, mut got, mut messages) = (vec![9; 40], Vec::new(), Vec::<Vec<u8>>::new());
        buffer.push_copy(&[9; 40], &[], false);
        buffer.retain();
        let mut released = 0;
        for _ in 0..400 {
            let at = messages.len();
            match random.u8(..6) {
                0 => drain_once(&mut buffer, &mut got, random.usize(..100_000)),
                1 => {
                    while !buffer.is_empty() {
                        drain_once(&mut buffer, &mut got, usize::MAX);
                    }
                }
                2 => {
                    released = random.usize(released..=at);
                    buffer.release_through(released);
                }
                3 => {
                    let body = vec![at as u8; random.usize(8000..20_000)];
                    buffer.push_shared(&[1, 2], Bytes::from_vec(body.clone()), true);
                    messages.push([&[1, 2][..], &body].concat());
                }
                _ => {
                    let body = vec![at as u8; random.usize(..200)];
                    if !buffer.push_gathering([3, 4], &body, usize::MAX, usize::MAX) {
                        buffer.push_copy(&[3, 4], &body, true);
                    }
                    messages.push([&[3, 4][..], &body].concat());
                }
            }
            expected.extend(messages[at..].concat());
            assert_eq!(buffer.accepted_count(), messages.len());
            let (before, retained) = retained_stream(&buffer);
            assert!(before <= released, "seed {seed}: {before} went, {released} may");
            assert_eq!(retained, messages[before..].concat(), "seed {seed}");
        }
        buffer.release_through(messages.len());
        while !buffer.is_empty() {
            drain_once(&mut buffer, &mut got, usize::MAX);
        }
        assert_eq!(got, expected, "seed {seed}");
        buffer.release_through(messages.len());
        assert_eq!(retained_stream(&buffer), (messages.len(), Vec::new()));
        assert_eq!(buffer.retained_bytes(), 0);
    }

    #[test]
    fn what_was_written_stays_until_it_is_released() {
        (0..60).for_each(check_retained);
    }

    #[test]
    fn a_buffer_is_appended_to_another_whatever_both_hold() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let pool = BlockPool::new();
            let (mut buffer, mut other) = (OutgoingBuffer::new(&pool), OutgoingBuffer::new(&pool));
            let (mut expected, mut got, mut count) = (Vec::new(), Vec::new(), 0);
            for _ in 0..random.usize(1..30) {
                let mut waiting = Vec::new();
                for _ in 0..random.usize(0..5) {
                    let body = vec![random.u8(..); random.usize(1..30_000)];
                    match random.u8(..3) {
                        0 => other.push_with(body.len(), |out| out.extend_from_slice(&body)),
                        1 => other.push_copy(&[], &body, true),
                        _ => other.push_shared(&[], Bytes::from_vec(body.clone()), true),
                    }
                    waiting.extend(body);
                    count += 1;
                }
                if random.bool() {
                    buffer.push_copy(b"own", &[], true);
                    expected.extend(b"own");
                    count += 1;
                }
                buffer.append(&mut other);
                expected.extend(waiting);
                assert!(other.is_empty() && other.queued_count() == 0, "seed {seed}");
                if random.bool() {
                    drain_once(&mut buffer, &mut got, random.usize(..100_000));
                }
            }
            while !buffer.is_empty() {
                drain_once(&mut buffer, &mut got, usize::MAX);
            }
            assert_eq!((got == expected, buffer.accepted_count()), (true, count), "seed {seed}");
        }
    }

    #[test]
    fn counts_messages_that_are_not_completely_written() {
        let mut buffer = OutgoingBuffer::new(&BlockPool::new());
        buffer.push_copy(b"h", b"one", true);
        buffer.push_copy(b"h", b"two", false);
        buffer.push_copy(b"h", b"three", true);
        assert_eq!(buffer.queued_count(), 2);
        buffer.write_with(|slices| Ok(slices[0].len() - 1)).unwrap();
        assert_eq!((buffer.queued_count(), buffer.queued_bytes()), (2, 1));
        buffer.write_with(|slices| Ok(slices[0].len())).unwrap();
        assert_eq!((buffer.queued_count(), buffer.accepted_count(), buffer.written_bytes()), (0, 2, 14));
        buffer.count_written(5, 1);
        assert_eq!((buffer.accepted_count(), buffer.written_bytes()), (3, 19));
    }

    #[test]
    fn a_buffer_whose_bytes_have_left_keeps_no_segment() {
        let mut buffer = OutgoingBuffer::new(&BlockPool::new());
        let write_all = |buffer: &mut OutgoingBuffer| {
            while !buffer.is_empty() {
                buffer.write_with(|slices| Ok(slices.iter().map(|slice| slice.len()).sum())).unwrap();
            }
        };
        for size in [10, SEGMENT_SIZE - 2, 3 * SEGMENT_SIZE] {
            buffer.push_copy(&[0, 0], &vec![1; size], true);
            assert!(buffer.tail.capacity() >= size);
            write_all(&mut buffer);
            assert_eq!(buffer.tail.capacity(), 0, "{size}");
        }
        buffer.retain();
        let sent = buffer.accepted_count();
        buffer.push_copy(&[0, 0], &[1; 10], true);
        write_all(&mut buffer);
        assert_eq!(buffer.tail.len(), 12, "it is retained");
        buffer.release_through(sent + 1);
        assert_eq!(buffer.tail.capacity(), 0);
    }
}
