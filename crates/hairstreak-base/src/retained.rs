//! Retained output of an [`OutgoingBuffer`](crate::OutgoingBuffer): segments that have left, kept until all of their
//! messages are released.
//!
//! Messages are mostly released in their order, and segments are freed in the order of their arrival. The first
//! remaining segment may begin within a released message. If some messages stay and later ones do not,
//! [`Retained::compact`] frees the memory between them: a short message does not keep a whole segment.
//!
//! Messages are counted from 1. Segments that share a message form a group. With messages of several frames, a group
//! may include all segments.
//!
//! Invariants: segments are in the order in which they left; `ended` is that of the last segment ever kept. A body is
//! kept only together with the segment before it, which has its header.

use std::collections::VecDeque;
use std::ops::Range;

use crate::bytes::Bytes;
use crate::framing::{FrameShape, Framing};
use crate::outgoing::{Content, SEGMENT_SIZE, Segment, give_back};
use crate::pool::BlockPool;

/// A segment is compacted if less than one of this many of its messages is alive.
const ALIVE_PART_MIN: usize = 4;
/// Retained bytes below which nothing is compacted.
const COMPACTION_BYTES_MIN: usize = 256 * 1024;

/// A part of the appended bytes. Parts follow each other.
#[derive(Clone, Copy, Debug)]
pub struct RetainedPart<'a> {
    /// Number of messages that ended before the part, including released ones.
    pub before: usize,
    /// Numbers of the messages in the part, if they are not consecutive from `before` on.
    pub numbers: Option<&'a [usize]>,
    /// Bytes of the part.
    pub bytes: RetainedBytes<'a>,
}

/// The bytes of a part.
#[derive(Clone, Copy, Debug)]
pub enum RetainedBytes<'a> {
    /// Encoded frames, each whole. The body of the last one may be in the next part.
    Encoded(&'a [u8]),
    /// The body whose header ends the previous part.
    Body(&'a Bytes),
}

/// Segments whose bytes have left.
pub(crate) struct Retained {
    segments: VecDeque<Kept>,
    /// Messages that ended with the last segment that left.
    pub ended: usize,
    /// Segments of the queue that leave without being retained: they were appended before.
    pub passing: usize,
    bytes: usize,
    /// Number of retained bytes that triggers the next compaction.
    compaction_bytes: usize,
}

struct Kept {
    segment: Segment,
    /// Numbers of messages that ended before the segment, and with it, including those removed by compaction.
    before: usize,
    ended: usize,
    /// Numbers of the messages in a compacted segment.
    numbers: Option<Box<[usize]>>,
}

impl Retained {
    pub fn new(before: usize, passing: usize) -> Retained {
        let segments = VecDeque::new();
        Retained { segments, ended: before, passing, bytes: 0, compaction_bytes: COMPACTION_BYTES_MIN }
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Keeps a segment whose bytes have left. `left` is the number of messages that have left by then.
    pub fn keep(&mut self, segment: Segment, left: usize) {
        self.bytes += segment.bytes().len();
        let before = std::mem::replace(&mut self.ended, left);
        self.segments.push_back(Kept { segment, before, ended: left, numbers: None });
    }

    /// Releases the first `count` messages; `is_all` releases everything else, too.
    pub fn release_through(&mut self, count: usize, is_all: bool, pool: &BlockPool) {
        // Messages that have not left yet are kept: a body would be without its header.
        let count = count.min(self.ended);
        let is_over = |kept: &Kept| kept.ended + usize::from(kept.segment.is_open) <= count;
        let going = if is_all { self.segments.len() } else { self.segments.partition_point(is_over) };
        for kept in self.segments.drain(..going) {
            self.bytes -= kept.segment.bytes().len();
            give_back(pool, kept.segment);
        }
    }

    pub fn parts(&self) -> impl Iterator<Item = RetainedPart<'_>> {
        self.segments.iter().map(|kept| RetainedPart {
            before: kept.before,
            numbers: kept.numbers.as_deref(),
            bytes: kept.segment.content.as_retained(),
        })
    }

    pub fn is_compaction_due(&self) -> bool {
        self.bytes >= self.compaction_bytes
    }

    pub fn compact<F: Framing>(&mut self, pool: &BlockPool, alive: impl Fn(Range<usize>) -> Vec<usize>) {
        let mut groups = std::mem::take(&mut self.segments);
        let mut group = Vec::new();
        while let Some(kept) = groups.pop_front() {
            let is_open = kept.segment.is_open;
            group.push(kept);
            if !is_open || groups.is_empty() {
                self.compact_group::<F>(&mut group, pool, &alive);
            }
        }
        self.compaction_bytes = (2 * self.bytes).max(COMPACTION_BYTES_MIN);
    }

    /// Puts the group back unchanged, or only its live messages, or nothing.
    fn compact_group<F: Framing>(
        &mut self,
        group: &mut Vec<Kept>,
        pool: &BlockPool,
        alive: &impl Fn(Range<usize>) -> Vec<usize>,
    ) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
        let (before, ended) = (first.before, last.ended);
        let mut wanted = alive(before + 1..ended + 1);
        let total = group.iter().map(Kept::message_count).sum::<usize>();
        // Several segments may contain bodies of any size.
        let part_min = if group.len() == 1 { ALIVE_PART_MIN } else { 1 };
        let is_dense = wanted.len() * part_min >= total && !wanted.is_empty();
        // The message that has begun here and continues in unwritten bytes.
        wanted.extend(last.segment.is_open.then_some(ended + 1));
        let copied = if is_dense { None } else { Copying::new(before, ended, &wanted).run::<F>(group) };
        let Some(copied) = copied else {
            self.segments.extend(group.drain(..));
            return;
        };
        for kept in group.drain(..) {
            self.bytes -= kept.segment.bytes().len();
            give_back(pool, kept.segment);
        }
        self.bytes += copied.iter().map(|kept| kept.segment.bytes().len()).sum::<usize>();
        self.segments.extend(copied);
    }
}

impl Kept {
    /// Returns the number of messages that end in the segment.
    fn message_count(&self) -> usize {
        match &self.numbers {
            Some(numbers) => numbers.len() - usize::from(self.segment.is_open),
            None => self.ended - self.before,
        }
    }

    /// Returns the numbers of the messages in the segment.
    fn numbers(&self) -> impl Iterator<Item = usize> {
        let listed = self.numbers.as_deref().unwrap_or(&[]).iter().copied();
        let following = self.numbers.is_none().then_some(self.before + 1..);
        listed.chain(following.into_iter().flatten())
    }
}

/// A copy of some messages of a group: their frames, except shared bodies.
struct Copying<'a> {
    /// Wanted messages that are not completely copied yet.
    wanted: &'a [usize],
    /// The last message that ends in the group. If the message behind it is wanted, only its start is there.
    ended: usize,
    /// Value of `before` for the next segment.
    before: usize,
    bytes: Vec<u8>,
    numbers: Vec<usize>,
    segments: Vec<Kept>,
}

impl<'a> Copying<'a> {
    fn new(before: usize, ended: usize, wanted: &'a [usize]) -> Copying<'a> {
        Copying { wanted, ended, before, bytes: Vec::new(), numbers: Vec::new(), segments: Vec::new() }
    }

    /// Returns `None` if a wanted message is missing.
    fn run<F: Framing>(mut self, group: &[Kept]) -> Option<Vec<Kept>> {
        // The frame whose body is the next segment.
        let mut split = None;
        for kept in group {
            let mut numbers = kept.numbers();
            let mut number = numbers.next();
            match &kept.segment.content {
                Content::Body(frame) => {
                    let ends_message = split.take().is_none_or(|header: FrameShape| header.ends_message);
                    self.take_body(number, frame, ends_message);
                }
                Content::Encoded(bytes) => {
                    let mut bytes = &bytes[..];
                    while let Some(frame) = F::shape(bytes) {
                        let Some((encoded, rest)) = bytes.split_at_checked(frame.size) else {
                            split = Some(frame);
                            self.take(number, bytes, false);
                            break;
                        };
                        if !frame.is_command {
                            self.take(number, encoded, frame.ends_message);
                            number = if frame.ends_message { numbers.next() } else { number };
                        }
                        bytes = rest;
                    }
                }
            }
            if self.bytes.len() >= SEGMENT_SIZE {
                self.cut();
            }
        }
        self.cut();
        self.wanted.iter().all(|number| *number > self.ended).then_some(self.segments)
    }

    fn is_wanted(&self, number: Option<usize>) -> bool {
        number.is_some() && number == self.wanted.first().copied()
    }

    /// Copies frames of a wanted message, or a header of one.
    fn take(&mut self, number: Option<usize>, encoded: &[u8], ends_message: bool) {
        if !self.is_wanted(number) {
            return;
        }
        self.bytes.extend_from_slice(encoded);
        self.has(number, ends_message);
    }

    /// Takes a body whose header was taken last.
    fn take_body(&mut self, number: Option<usize>, frame: &Bytes, ends_message: bool) {
        if !self.is_wanted(number) {
            return;
        }
        self.cut();
        self.has(number, ends_message);
        self.push(Content::Body(frame.clone()));
    }

    fn has(&mut self, number: Option<usize>, ends_message: bool) {
        self.numbers.extend(number.filter(|number| self.numbers.last() != Some(number)));
        self.wanted = &self.wanted[usize::from(ends_message)..];
    }

    /// Ends the segment that is being copied, unless it is empty.
    fn cut(&mut self) {
        if !self.bytes.is_empty() {
            let mut bytes = std::mem::take(&mut self.bytes);
            bytes.shrink_to_fit();
            self.push(Content::Encoded(bytes));
        }
    }

    fn push(&mut self, content: Content) {
        let numbers = std::mem::take(&mut self.numbers).into_boxed_slice();
        let next = self.wanted.first();
        let is_open = next.is_some_and(|next| numbers.last() == Some(next));
        let message_count = numbers.len() - usize::from(is_open);
        let ended = next.map_or(self.ended, |next| next - 1);
        let before = std::mem::replace(&mut self.before, ended);
        let segment = Segment { content, message_count, is_open };
        self.segments.push(Kept { segment, before, ended, numbers: Some(numbers) });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::OutgoingBuffer;
    use crate::framing::Header;

    const MORE: u16 = 0x8000;

    /// Framing of the tests: the size of the body (2), with [`MORE`] if another frame follows; the body. An empty
    /// frame is a command.
    struct Plain;

    impl Framing for Plain {
        fn single(_: &[u8]) -> Option<Header> {
            None
        }

        fn shape(bytes: &[u8]) -> Option<FrameShape> {
            let header = u16::from_be_bytes(*bytes.first_chunk()?);
            let size = 2 + usize::from(header & !MORE);
            Some(FrameShape { size, is_command: header == 0, ends_message: header & MORE == 0 })
        }
    }

    /// Returns the retained messages by number, each as the bodies of its frames.
    fn messages(buffer: &OutgoingBuffer) -> BTreeMap<usize, Vec<u8>> {
        let mut all = BTreeMap::new();
        let mut split = None;
        for part in buffer.retained().unwrap() {
            let mut listed = part.numbers.unwrap_or(&[]).iter();
            let mut number = listed.next().copied().unwrap_or(part.before + 1);
            let mut add = |body: &[u8], ends_message: bool| {
                all.entry(number).or_insert_with(Vec::new).extend_from_slice(body);
                if ends_message {
                    number = listed.next().copied().unwrap_or(number + 1);
                }
            };
            match part.bytes {
                RetainedBytes::Body(frame) => {
                    let header: FrameShape = split.take().expect("its header is there");
                    add(frame.as_bytes(), header.ends_message);
                }
                RetainedBytes::Encoded(mut bytes) => {
                    while let Some(frame) = Plain::shape(bytes) {
                        let Some((encoded, rest)) = bytes.split_at_checked(frame.size) else {
                            split = Some(frame);
                            break;
                        };
                        if !frame.is_command {
                            add(&encoded[2..], frame.ends_message);
                        }
                        bytes = rest;
                    }
                }
            }
        }
        all
    }

    fn write_all(buffer: &mut OutgoingBuffer) {
        while !buffer.is_empty() {
            buffer.write_with(|slices| Ok(slices.iter().map(|slice| slice.len()).sum())).unwrap();
        }
    }

    /// Parameters of the messages that are appended and settled.
    #[derive(Clone, Copy, Debug)]
    struct Traffic {
        /// The largest copied body, and how many of 1,000 are longer and shared.
        size_max: usize,
        shared: usize,
        /// Frames of a message, at most.
        frames_max: usize,
        /// One of this many messages stays to the end.
        keep: usize,
        /// Each message is written whole at once; otherwise some are half written.
        is_written: bool,
    }

    fn push(
        buffer: &mut OutgoingBuffer,
        random: &mut fastrand::Rng,
        number: usize,
        traffic: Traffic,
    ) -> Vec<u8> {
        let mut message = Vec::new();
        let frame_count = random.usize(1..=traffic.frames_max);
        for at in 1..=frame_count {
            let is_shared = random.usize(..1000) < traffic.shared;
            let size =
                if is_shared { random.usize(8000..20_000) } else { random.usize(1..=traffic.size_max) };
            let body = vec![number as u8; size];
            message.extend_from_slice(&body);
            let is_last = at == frame_count;
            let header = (size as u16 | if is_last { 0 } else { MORE }).to_be_bytes();
            if is_shared {
                buffer.push_shared(&header, Bytes::from_vec(body), is_last);
            } else if frame_count > 1 || !buffer.push_gathering(header, &body, usize::MAX, usize::MAX) {
                buffer.push_copy(&header, &body, is_last);
            }
        }
        message
    }

    /// Appends messages, and settles them at random.
    fn check(seed: u64, traffic: Traffic) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut buffer = OutgoingBuffer::new(&BlockPool::new());
        buffer.retain();
        let mut alive = BTreeMap::new();
        let (mut most, mut most_alive, mut released) = (0, 0, 0);
        for number in 1..=40_000 {
            alive.insert(number, push(&mut buffer, &mut random, number, traffic));
            if random.usize(..500) == 0 {
                buffer.push_copy(&[0, 0], &[], false);
            }
            if number % 1000 == 0 {
                if traffic.is_written {
                    write_all(&mut buffer);
                } else {
                    while buffer.queued_bytes() > 100_000 {
                        let size = random.usize(..100_000);
                        buffer.write_with(|_| Ok(size)).unwrap();
                    }
                }
                let left = buffer.accepted_count() - buffer.queued_count();
                alive.retain(|number, _| *number > left || number % traffic.keep == 0 || random.u8(..8) == 0);
                released = alive.keys().next().map_or(number, |first| first - 1);
                buffer.release_through(released);
                let living = |range: Range<usize>| alive.range(range).map(|(number, _)| *number).collect();
                buffer.compact::<Plain>(living);
                let retained = messages(&buffer);
                for (number, body) in &alive {
                    assert!(retained.get(number) == Some(body), "{traffic:?}, seed {seed}: {number}");
                }
                most = most.max(buffer.retained_bytes());
                most_alive = most_alive.max(alive.values().map(Vec::len).sum());
            }
        }
        println!(
            "{traffic:?}, seed {seed}: {most_alive} bytes alive, {most} retained at most; {released} released"
        );
        let size_max = if traffic.shared > 0 { 20_000 } else { traffic.size_max };
        let bound = 2 * (4 * most_alive).max(COMPACTION_BYTES_MIN) + 1000 * 2 * traffic.frames_max * size_max;
        assert!(most < bound, "{traffic:?}, seed {seed}: {most} of at most {bound}");
    }

    #[test]
    fn a_part_knows_what_came_before_it_though_some_of_that_had_left_before_its_segment_was_full() {
        let mut buffer = OutgoingBuffer::new(&BlockPool::new());
        buffer.push_copy(&[0, 1], b"x", true);
        buffer.retain();
        let mut expected = BTreeMap::new();
        for number in 2..20_000usize {
            let body = number.to_be_bytes().to_vec();
            buffer.push_copy(&[0, 8], &body, true);
            expected.insert(number, body);
            if number == 100 {
                write_all(&mut buffer);
            }
        }
        assert!(messages(&buffer) == expected);
        buffer.write_with(|_| Ok(100_000)).unwrap();
        assert!(messages(&buffer) == expected);
        write_all(&mut buffer);
        assert!(messages(&buffer) == expected);
    }

    #[test]
    fn what_is_settled_among_others_goes_and_those_stay() {
        let one = Traffic { size_max: 60, shared: 0, frames_max: 1, keep: 500, is_written: true };
        for seed in 0..2 {
            check(seed, one);
            check(seed, Traffic { size_max: 1000, keep: 300, ..one });
            check(seed, Traffic { size_max: 200, shared: 20, keep: 50, ..one });
        }
    }

    #[test]
    fn messages_of_several_frames_do_not_hold_each_other() {
        let several = Traffic { size_max: 1000, shared: 0, frames_max: 4, keep: 300, is_written: true };
        for seed in 0..2 {
            check(seed, several);
            check(seed, Traffic { shared: 20, keep: 50, ..several });
            check(seed, Traffic { shared: 300, keep: 500, size_max: 60, ..several });
            check(seed, Traffic { shared: 20, is_written: false, ..several });
        }
    }

    #[test]
    fn what_is_settled_in_order_goes_though_segments_end_within_messages() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut buffer = OutgoingBuffer::new(&BlockPool::new());
        buffer.retain();
        let traffic = Traffic { size_max: 8000, shared: 100, frames_max: 3, keep: 1, is_written: true };
        let mut window = BTreeMap::new();
        for number in 1..=20_000 {
            window.insert(number, push(&mut buffer, &mut random, number, traffic));
            write_all(&mut buffer);
            if window.len() > 100 {
                window.pop_first();
                buffer.release_through(number - window.len());
            }
            assert!(buffer.retained_bytes() <= 103 * 3 * 20_000);
        }
        let retained = messages(&buffer);
        assert!(window.iter().all(|(number, body)| retained.get(number) == Some(body)));
    }
}
