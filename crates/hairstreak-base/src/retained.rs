//! What an [`OutgoingBuffer`](crate::OutgoingBuffer) retains of what has left: its segments, until no message in them is
//! asked for any more.
//!
//! Mostly messages are released in their order, and segments go as they came. Where some stay and those behind them do not,
//! [`Retained::compact`] frees what is in between: a short message does not keep a whole segment.
//!
//! Messages are counted from 1. Segments that share a message are a group; a group begins and ends with a whole message.
//!
//! Invariants: segments are in the order in which they left; `ended` is that of the last segment there ever was.

use std::collections::VecDeque;
use std::ops::Range;

use crate::frame::Frame;
use crate::outgoing::{Bytes, Segment, give_back};
use crate::pool::BlockPool;

/// A segment of which not even so much is alive is compacted.
const ALIVE_PART_MIN: usize = 4;
/// Bytes retained below which nothing is compacted.
const COMPACTION_BYTES_MIN: usize = 256 * 1024;

/// A part of what was put in; parts follow each other.
#[derive(Clone, Copy, Debug)]
pub struct RetainedPart<'a> {
    /// How many messages ended before it.
    pub before: usize,
    /// Which messages end in it, if they do not follow each other from `before` on.
    pub numbers: Option<&'a [usize]>,
    /// Its bytes.
    pub bytes: RetainedBytes<'a>,
}

/// The bytes of a part.
#[derive(Clone, Copy, Debug)]
pub enum RetainedBytes<'a> {
    /// Encoded frames, each whole; the header of a last one may have its body in the next part.
    Encoded(&'a [u8]),
    /// Such a body.
    Body(&'a Frame),
}

/// An encoded frame at the beginning of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameShape {
    /// Its size, header included.
    pub size: usize,
    /// It belongs to no message.
    pub is_command: bool,
    /// A message ends with it.
    pub ends_message: bool,
}

/// Segments whose bytes have left.
pub(crate) struct Retained {
    segments: VecDeque<Kept>,
    /// Messages that ended with what left last.
    pub ended: usize,
    /// Segments of the queue that go without being retained: they were there before.
    pub passing: usize,
    bytes: usize,
    /// With how many bytes it is compacted again.
    compaction_bytes: usize,
}

struct Kept {
    segment: Segment,
    /// How many messages ended before it, and with it.
    before: usize,
    ended: usize,
    /// The messages that end in it, if it was compacted.
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

    /// Keeps a segment whose bytes have left; `left` messages have by then.
    pub fn keep(&mut self, segment: Segment, left: usize) {
        self.bytes += segment.bytes().len();
        let before = std::mem::replace(&mut self.ended, left);
        self.segments.push_back(Kept { segment, before, ended: left, numbers: None });
    }

    /// The first `count` messages are not asked for any more; `is_all`: nor is anything else.
    pub fn release_through(&mut self, count: usize, is_all: bool, pool: &BlockPool) {
        // Segments that share a message go together.
        let is_last = |kept: &Kept| kept.ended <= count && !kept.segment.is_open;
        let going = self.segments.partition_point(|kept| kept.ended <= count);
        let going = match self.segments.range(..going).rposition(is_last) {
            _ if is_all => self.segments.len(),
            Some(last) => last + 1,
            None => 0,
        };
        for kept in self.segments.drain(..going) {
            self.bytes -= kept.segment.bytes().len();
            give_back(pool, kept.segment);
        }
    }

    pub fn parts(&self) -> impl Iterator<Item = RetainedPart<'_>> {
        self.segments.iter().map(|kept| RetainedPart {
            before: kept.before,
            numbers: kept.numbers.as_deref(),
            bytes: kept.segment.bytes.as_retained(),
        })
    }

    pub fn is_compaction_due(&self) -> bool {
        self.bytes >= self.compaction_bytes
    }

    pub fn compact(
        &mut self,
        pool: &BlockPool,
        alive: impl Fn(Range<usize>) -> Vec<usize>,
        shape: impl Fn(&[u8]) -> Option<FrameShape>,
    ) {
        let mut groups = std::mem::take(&mut self.segments);
        let mut group = Vec::new();
        while let Some(kept) = groups.pop_front() {
            let is_open = kept.segment.is_open;
            group.push(kept);
            if !is_open {
                self.compact_group(&mut group, pool, &alive, &shape);
            }
        }
        self.segments.extend(group);
        self.compaction_bytes = (2 * self.bytes).max(COMPACTION_BYTES_MIN);
    }

    /// Takes the group back as it is, or what is alive of it, or nothing.
    fn compact_group(
        &mut self,
        group: &mut Vec<Kept>,
        pool: &BlockPool,
        alive: &impl Fn(Range<usize>) -> Vec<usize>,
        shape: &impl Fn(&[u8]) -> Option<FrameShape>,
    ) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
        let (before, ended, count) = (first.before, last.ended, group.len());
        let living = alive(before + 1..ended + 1);
        let total = first.numbers.as_ref().map_or(ended - before, |numbers| numbers.len());
        // A message that goes on in other segments takes them along.
        let is_whole = count > 1 && living.last() == Some(&ended);
        let is_dense = count == 1 && living.len() * ALIVE_PART_MIN >= total;
        let copied = if is_whole || is_dense { None } else { first.copy_of(&living, shape) };
        let Some(bytes) = copied else {
            self.segments.extend(group.drain(..));
            return;
        };
        for kept in group.drain(..) {
            self.bytes -= kept.segment.bytes().len();
            give_back(pool, kept.segment);
        }
        if !living.is_empty() {
            self.bytes += bytes.len();
            let message_count = living.len();
            let segment = Segment { bytes: Bytes::Encoded(bytes), message_count, is_open: false };
            self.segments.push_back(Kept { segment, before, ended, numbers: Some(living.into()) });
        }
    }
}

impl Kept {
    /// The frames of those messages; nothing if they do not all end in it.
    fn copy_of(&self, wanted: &[usize], shape: impl Fn(&[u8]) -> Option<FrameShape>) -> Option<Vec<u8>> {
        let mut bytes = self.segment.bytes();
        let mut numbers = self.numbers.as_deref().map(|numbers| numbers.iter().copied());
        let mut following = self.before + 1..;
        let mut next = || match &mut numbers {
            Some(numbers) => numbers.next(),
            None => following.next(),
        };
        let mut copy = Vec::new();
        let mut wanted = wanted.iter().peekable();
        let mut number = next();
        while let Some(frame) = shape(bytes).filter(|frame| frame.size <= bytes.len())
            && let Some(&&first) = wanted.peek()
        {
            let (encoded, rest) = bytes.split_at(frame.size);
            if number == Some(first) && !frame.is_command {
                copy.extend_from_slice(encoded);
            }
            if frame.ends_message && !frame.is_command {
                if number == Some(first) {
                    wanted.next();
                }
                number = next();
            }
            bytes = rest;
        }
        copy.shrink_to_fit();
        wanted.peek().is_none().then_some(copy)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::OutgoingBuffer;

    /// Frames here are: the size of the body (2), the body; one of no bytes is a command.
    fn shape(bytes: &[u8]) -> Option<FrameShape> {
        let size = usize::from(u16::from_be_bytes(*bytes.first_chunk()?));
        Some(FrameShape { size: 2 + size, is_command: size == 0, ends_message: true })
    }

    /// The messages that are retained, by number.
    fn messages(buffer: &OutgoingBuffer) -> BTreeMap<usize, Vec<u8>> {
        let mut all = BTreeMap::new();
        for part in buffer.retained().unwrap() {
            let mut listed = part.numbers.unwrap_or(&[]).iter();
            let mut number = listed.next().copied().unwrap_or(part.before + 1);
            let mut add = |body: &[u8]| {
                all.insert(number, body.to_vec());
                number = listed.next().copied().unwrap_or(number + 1);
            };
            match part.bytes {
                RetainedBytes::Body(frame) => add(frame.as_bytes()),
                RetainedBytes::Encoded(mut bytes) => {
                    while let Some(FrameShape { size, is_command, .. }) = shape(bytes)
                        && size <= bytes.len()
                    {
                        let (frame, rest) = bytes.split_at(size);
                        bytes = rest;
                        if !is_command {
                            add(&frame[2..]);
                        }
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

    /// Puts in messages of at most this size, and settles them at random, all but one of `keep` in the end.
    fn check(seed: u64, size_max: usize, shared: usize, keep: usize) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut buffer = OutgoingBuffer::new(&BlockPool::new());
        buffer.retain();
        let mut alive = BTreeMap::new();
        let mut most = 0;
        for number in 1..=40_000 {
            let is_shared = random.usize(..1000) < shared;
            let size = if is_shared { random.usize(8000..20_000) } else { random.usize(1..=size_max) };
            let body = vec![number as u8; size];
            let header = (size as u16).to_be_bytes();
            if is_shared {
                buffer.push_shared(&header, Frame::from_vec(body.clone()), true);
            } else if !buffer.push_gathering(header, &body, usize::MAX, usize::MAX) {
                buffer.push_copy(&header, &body, true);
            }
            alive.insert(number, body);
            if random.usize(..500) == 0 {
                buffer.push_copy(&[0, 0], &[], false);
            }
            if number % 1000 == 0 {
                write_all(&mut buffer);
                alive.retain(|number, _| number % keep == 0 || random.u8(..8) == 0);
                let first = *alive.keys().next().unwrap();
                buffer.release_through(first - 1);
                let living = |range: Range<usize>| alive.range(range).map(|(number, _)| *number).collect();
                buffer.compact(living, shape);
                let retained = messages(&buffer);
                for (number, body) in &alive {
                    assert!(retained.get(number) == Some(body), "seed {seed}: {number}");
                }
                most = most.max(buffer.retained_bytes());
            }
        }
        let bytes = alive.values().map(|body| 2 + body.len()).sum::<usize>();
        println!("seed {seed}: {bytes} bytes alive, {most} retained at most");
        let bound = 2 * (4 * bytes).max(COMPACTION_BYTES_MIN) + 1000 * 2 * size_max;
        assert!(shared > 0 || most < bound, "seed {seed}: {most} of at most {bound}");
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
        for seed in 0..2 {
            check(seed, 60, 0, 500);
            check(seed, 1000, 0, 300);
            check(seed, 200, 20, 50);
        }
    }
}
