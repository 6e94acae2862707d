//! `Store`: the messages of one virtual host in memory. A message is stored once, for any number of queues that hold it.
//!
//! ```text
//! queue entry: MessageId --> slot: segment, offset, references --> segment: | record | record | ... |
//! ```
//!
//! A segment is free as soon as no record in it lives. If single messages keep many segments, the store compacts segments that
//! are less than half alive. It copies their live records to the end of the current segment, a few with each release.
//!
//! Invariant: each reference that was handed out is released once.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use hairstreak_base::Bytes;
use slab::Slab;

use super::pool::SegmentPool;
use super::record::{Record, append_record, kept_by_reference, record_size};
use super::segments::Segments;
use super::slots::{MessageId, Slot, Slots};
use super::views::{BodyView, Message, MessageView};

/// Number of records that one release examines in a segment that is compacted.
const COMPACTED_RECORD_COUNT: usize = 8;
/// Bytes that one release copies; the record that reaches them is the last one.
const COMPACTED_SIZE: usize = 4_096;

/// The messages of a virtual host.
#[derive(Debug)]
pub(crate) struct Store {
    slots: Slots,
    segments: Segments,
    /// Bodies that stay by reference.
    bodies: Slab<Bytes>,
    body_bytes: usize,
    /// Segments less than half alive.
    sparse: Vec<u32>,
    /// The segment that is compacted, and how far.
    compacted: Option<(u32, u32)>,
}

impl Store {
    pub(crate) fn new(pool: Arc<SegmentPool>) -> Store {
        Store {
            slots: Slots::new(),
            segments: Segments::new(pool),
            bodies: Slab::new(),
            body_bytes: 0,
            sparse: Vec::new(),
            compacted: None,
        }
    }

    /// Returns the number of messages.
    pub(crate) fn count(&self) -> usize {
        self.slots.count()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let bodies = self.body_bytes + self.bodies.capacity() * size_of::<Bytes>();
        self.slots.memory_bytes() + self.segments.memory_bytes() + bodies
    }

    /// Stores a message with one reference.
    #[inline]
    pub(crate) fn add(&mut self, message: &Message<'_>) -> MessageId {
        let size = record_size(message);
        let shared_body = kept_by_reference(message).map_or(0, |body| self.add_body(body));
        let (segment, bytes) = self.segments.reserve(size);
        let offset = bytes.len() as u32;
        let id = self.slots.take(Slot { segment, offset, references: 1 });
        append_record(bytes, message, size, id, shared_body);
        id
    }

    #[cold]
    fn add_body(&mut self, body: &Bytes) -> u32 {
        self.body_bytes += body.as_bytes().len();
        self.bodies.insert(body.clone()) as u32
    }

    #[inline]
    fn record(&self, id: MessageId) -> Record<'_> {
        let slot = self.slots.get(id);
        Record::at(self.segments.bytes(slot.segment, slot.offset))
    }

    /// The message.
    #[inline]
    pub(crate) fn view(&self, id: MessageId) -> MessageView<'_> {
        let record = self.record(id);
        let mut view = record.view();
        if let Some(body) = record.shared_body() {
            view.body = BodyView::Shared(&self.bodies[body as usize]);
        }
        view
    }

    /// The size of the message's body.
    #[inline]
    pub(crate) fn body_size(&self, id: MessageId) -> u32 {
        self.record(id).body_size()
    }

    pub(crate) fn is_persistent(&self, id: MessageId) -> bool {
        self.record(id).is_persistent()
    }

    pub(crate) fn priority(&self, id: MessageId) -> u8 {
        self.record(id).priority()
    }

    /// One reference more.
    #[inline]
    pub(crate) fn retain(&mut self, id: MessageId) {
        self.slots.get_mut(id).references += 1;
    }

    /// Removes one reference. A message without references is freed.
    #[inline]
    pub(crate) fn release(&mut self, id: MessageId) {
        let slot = self.slots.get_mut(id);
        slot.references -= 1;
        if slot.references == 0 {
            let slot = *slot;
            self.remove(id, slot);
        }
    }

    #[inline]
    fn remove(&mut self, id: MessageId, slot: Slot) {
        let record = Record::at(self.segments.bytes(slot.segment, slot.offset));
        let size = record.size();
        if let Some(body) = record.shared_body() {
            self.remove_body(body);
        }
        self.slots.free(id);
        if self.segments.release(slot.segment, size) {
            self.sparse.push(slot.segment);
        }
        // The number of a freed segment may be reused soon.
        if self.compacted.is_some_and(|(segment, _)| self.segments.size(segment) == 0) {
            self.compacted = None;
        }
        if !self.sparse.is_empty() || self.compacted.is_some() {
            self.compact();
        }
    }

    #[cold]
    fn remove_body(&mut self, body: u32) {
        self.body_bytes -= self.bodies.remove(body as usize).as_bytes().len();
    }

    /// Continues compacting.
    #[cold]
    fn compact(&mut self) {
        let Some((segment, mut offset)) = self.compacted.or_else(|| self.next_compacted()) else { return };
        self.compacted = None;
        let mut copied_size = 0;
        for _ in 0..COMPACTED_RECORD_COUNT {
            if copied_size >= COMPACTED_SIZE || offset as usize >= self.segments.size(segment) {
                break;
            }
            let record = Record::at(self.segments.bytes(segment, offset));
            let (id, size) = (record.id(), record.size());
            if self.is_at(id, segment, offset) {
                let (to, moved) = self.segments.copy_forward(segment, offset, size);
                let slot = self.slots.get_mut(id);
                (slot.segment, slot.offset) = (to, moved);
                self.segments.release(segment, size);
                copied_size += size;
            }
            offset += size as u32;
        }
        // A segment without live records has lost its bytes, so there is nothing left to compact.
        if (offset as usize) < self.segments.size(segment) {
            self.compacted = Some((segment, offset));
        }
    }

    fn next_compacted(&mut self) -> Option<(u32, u32)> {
        if !self.segments.are_sparse() {
            return None;
        }
        let segment = self.sparse.pop()?;
        self.segments.unlist(segment).then_some((segment, 0))
    }

    /// Returns true if the slot of this number names this place.
    fn is_at(&self, id: MessageId, segment: u32, offset: u32) -> bool {
        let slot = self.slots.get(id);
        slot.references > 0 && slot.segment == segment && slot.offset == offset
    }
}
