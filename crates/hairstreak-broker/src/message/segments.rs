//! `Segments`: the memory that records lie in, append-only pieces that all queues share.
//!
//! The first segments are on common pages, so that a host with few messages takes little memory; further ones are huge pages.
//!
//! Invariants: only the current segment grows; a segment without live bytes is the current one, or spare, or freed.

use std::sync::Arc;

use hairstreak_base::{AppendBuffer, HUGE_PAGE_SIZE};

use super::pool::SegmentPool;

/// The size of a segment. A larger record has a segment for itself.
const SEGMENT_SIZE: usize = HUGE_PAGE_SIZE;
/// The size of the first segments.
const FIRST_SIZE: usize = 1 << 20;
/// Number of segments on common pages.
const FIRST_COUNT: usize = 4;
/// Empty segments that are kept for the next messages; further ones go to the pool.
const SPARE_COUNT: usize = 2;

#[derive(Debug, Default)]
struct Segment {
    bytes: AppendBuffer,
    live_bytes: usize,
    /// True if the segment is in the list of segments to compact.
    is_listed: bool,
}

#[derive(Debug)]
pub(super) struct Segments {
    segments: Vec<Segment>,
    current: u32,
    /// Numbers without a segment.
    unused: Vec<u32>,
    spares: Vec<AppendBuffer>,
    live_bytes: usize,
    capacity: usize,
    pool: Arc<SegmentPool>,
}

impl Segments {
    pub(super) fn new(pool: Arc<SegmentPool>) -> Segments {
        Segments {
            pool,
            segments: vec![Segment::default()],
            current: 0,
            unused: Vec::new(),
            spares: Vec::new(),
            live_bytes: 0,
            capacity: 0,
        }
    }

    /// The memory of all segments in use. Spare ones do not count, so that a host without messages has next to nothing.
    pub(super) fn memory_bytes(&self) -> usize {
        self.capacity - self.spares.iter().map(AppendBuffer::capacity).sum::<usize>()
    }

    /// Returns true if the segments have enough free memory inside to make compacting worth the copies.
    pub(super) fn are_sparse(&self) -> bool {
        self.capacity > 2 * self.live_bytes + (SPARE_COUNT + 2) * SEGMENT_SIZE
    }

    /// The segment that takes a record of this size, with room for the record, and its end.
    #[inline]
    pub(super) fn reserve(&mut self, size: usize) -> (u32, &mut AppendBuffer) {
        let current = &self.segments[self.current as usize].bytes;
        let number = if current.len() + size <= current.capacity() { self.current } else { self.open(size) };
        self.live_bytes += size;
        let segment = &mut self.segments[number as usize];
        segment.live_bytes += size;
        (number, &mut segment.bytes)
    }

    /// Opens the segment for a record that the current segment has no room for.
    #[cold]
    fn open(&mut self, size: usize) -> u32 {
        let bytes = match self.spares.pop() {
            Some(spare) if size <= spare.capacity() => spare,
            spare => {
                self.spares.extend(spare);
                let is_first = self.segments.len() - self.unused.len() <= FIRST_COUNT;
                let bytes = match size {
                    ..=FIRST_SIZE if is_first => AppendBuffer::new(FIRST_SIZE),
                    ..=SEGMENT_SIZE => self.pool.take().unwrap_or_else(|| AppendBuffer::huge(SEGMENT_SIZE)),
                    _ => AppendBuffer::huge(size),
                };
                self.capacity += bytes.capacity();
                bytes
            }
        };
        let number = match self.unused.pop() {
            Some(number) => number,
            None => {
                self.segments.push(Segment::default());
                self.segments.len() as u32 - 1
            }
        };
        self.segments[number as usize].bytes = bytes;
        if size <= SEGMENT_SIZE {
            let former = std::mem::replace(&mut self.current, number);
            self.drop_if_dead(former);
        }
        number
    }

    #[inline]
    pub(super) fn bytes(&self, segment: u32, offset: u32) -> &[u8] {
        &self.segments[segment as usize].bytes.as_bytes()[offset as usize..]
    }

    pub(super) fn size(&self, segment: u32) -> usize {
        self.segments[segment as usize].bytes.len()
    }

    /// A record of this size is dead. Returns whether its segment has become worth compacting.
    #[inline]
    pub(super) fn release(&mut self, number: u32, size: usize) -> bool {
        self.live_bytes -= size;
        let segment = &mut self.segments[number as usize];
        segment.live_bytes -= size;
        if segment.live_bytes == 0 {
            if number == self.current && segment.bytes.capacity() <= SEGMENT_SIZE {
                segment.bytes.clear();
            } else {
                self.drop_if_dead(number);
            }
            return false;
        }
        let is_worth = number != self.current
            && !segment.is_listed
            && segment.live_bytes * 2 < segment.bytes.len()
            && segment.bytes.capacity() <= SEGMENT_SIZE;
        segment.is_listed |= is_worth;
        is_worth
    }

    /// The segment is off the list. Returns whether it is still worth compacting.
    pub(super) fn unlist(&mut self, number: u32) -> bool {
        let segment = &mut self.segments[number as usize];
        segment.is_listed = false;
        number != self.current && segment.live_bytes > 0 && segment.live_bytes * 2 < segment.bytes.len()
    }

    /// Copies a record to the end of the current segment, and returns where it lies now.
    pub(super) fn copy_forward(&mut self, from: u32, offset: u32, size: usize) -> (u32, u32) {
        let (start, end) = (offset as usize, offset as usize + size);
        let bytes = std::mem::take(&mut self.segments[from as usize].bytes);
        let (to, target) = self.reserve(size);
        let moved = target.len() as u32;
        target.append(&bytes.as_bytes()[start..end]);
        self.segments[from as usize].bytes = bytes;
        (to, moved)
    }

    fn drop_if_dead(&mut self, number: u32) {
        let segment = &mut self.segments[number as usize];
        if segment.live_bytes > 0 || number == self.current {
            return;
        }
        let mut bytes = std::mem::take(&mut segment.bytes);
        self.unused.push(number);
        if bytes.capacity() <= SEGMENT_SIZE && bytes.capacity() > 0 && self.spares.len() < SPARE_COUNT {
            bytes.clear();
            self.spares.push(bytes);
        } else {
            self.capacity -= bytes.capacity();
            if bytes.capacity() == SEGMENT_SIZE {
                self.pool.put(bytes);
            }
        }
    }
}
