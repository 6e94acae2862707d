//! `Queues`: the queues of a virtual host by number and by name.
//!
//! - `QueueId`: the number of a queue.

use std::collections::HashMap;

use hairstreak_wire::amqp::FieldTable;
use slab::Slab;

use super::declaration::QueueDeclaration;
use super::kind::{QueueId, QueueKind};
use super::live::Queue;
use crate::stats::QueueStats;
use crate::steps::visit_slice;

/// All queues. A number stays taken until the unacknowledged messages of its queue are settled.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    slab: Slab<Queue>,
    names: HashMap<Box<[u8]>, QueueId, foldhash::fast::RandomState>,
    /// The memory of the entries, in bytes.
    entry_bytes: usize,
    /// The memory of the names and of the arguments, in bytes.
    declared_bytes: usize,
    /// Number of queues ever added.
    added_count: u64,
    /// The counters of deleted queues, by kind.
    past: [QueueStats; QueueKind::ALL.len()],
}

impl Queues {
    pub(crate) fn new() -> Queues {
        Queues::default()
    }

    /// Returns the number of queues.
    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    /// The memory of the names and of the arguments, in bytes.
    pub(crate) fn declared_bytes(&self) -> usize {
        self.declared_bytes
    }

    /// The memory of the queues and of their entries, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.entry_bytes + self.declared_bytes + self.slab.capacity() * size_of::<Queue>()
    }

    /// The memory of a queue's entries has changed from `before` to `after` bytes.
    #[inline]
    pub(crate) fn note_memory(&mut self, before: usize, after: usize) {
        self.entry_bytes = self.entry_bytes + after - before;
    }

    /// Adds a queue with a new name.
    pub(crate) fn add(&mut self, mut queue: Queue) -> QueueId {
        self.added_count += 1;
        self.declared_bytes += queue.declared_bytes();
        queue.serial = self.added_count;
        let name = queue.declaration.name.clone();
        let id = QueueId(self.slab.insert(queue) as u32);
        self.names.insert(name, id);
        id
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<QueueId> {
        self.names.get(name).copied()
    }

    /// Returns true if the queue with this serial exists, and has this number.
    pub(crate) fn is_there(&self, id: QueueId, serial: u64) -> bool {
        self.slab.get(id.0 as usize).is_some_and(|queue| queue.serial == serial && !queue.is_deleted)
    }

    #[inline]
    pub(crate) fn get(&self, id: QueueId) -> &Queue {
        &self.slab[id.0 as usize]
    }

    /// The queue with this number, unless the queue is deleted.
    pub(crate) fn try_get(&self, id: QueueId) -> Option<&Queue> {
        self.slab.get(id.0 as usize).filter(|queue| !queue.is_deleted)
    }

    /// As [`Queues::try_get`].
    pub(crate) fn try_get_mut(&mut self, id: QueueId) -> Option<&mut Queue> {
        self.slab.get_mut(id.0 as usize).filter(|queue| !queue.is_deleted)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: QueueId) -> &mut Queue {
        &mut self.slab[id.0 as usize]
    }

    /// Visits the queues at some positions, as [`visit_slice`] does.
    pub(crate) fn visit(
        &self,
        from: usize,
        count_max: usize,
        mut visit: impl FnMut(QueueId, &Queue),
    ) -> Option<usize> {
        visit_slice(&self.slab, from, count_max, |id, queue| {
            if !queue.is_deleted {
                visit(QueueId(id as u32), queue);
            }
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Queue> {
        self.slab.iter().map(|(_, queue)| queue)
    }

    /// Removes the queue. Its number is free once all its deliveries are settled.
    pub(crate) fn delete(&mut self, id: QueueId) {
        let queue = &mut self.slab[id.0 as usize];
        queue.is_deleted = true;
        self.declared_bytes -= queue.declared_bytes();
        let has_deliveries = queue.unacknowledged > 0;
        let QueueDeclaration { name, .. } = std::mem::take(&mut queue.declaration);
        queue.arguments = FieldTable::new();
        self.names.remove(&name);
        if !has_deliveries {
            self.remove(id);
        }
    }

    /// Frees the number of a queue.
    fn remove(&mut self, id: QueueId) {
        let queue = self.slab.remove(id.0 as usize);
        self.past[queue.kind as usize] += queue.stats();
    }

    /// Returns the counters of all queues of a kind, deleted queues included. Visits each queue.
    pub(crate) fn stats(&self, kind: QueueKind) -> QueueStats {
        let mut sum = self.past[kind as usize];
        self.iter().filter(|queue| queue.kind == kind).for_each(|queue| sum += queue.stats());
        sum
    }

    /// Settles deliveries whose bodies have `body_bytes` bytes: acknowledged, or in another way. Returns true if the queue still
    /// exists.
    #[inline]
    pub(crate) fn settle(&mut self, id: QueueId, count: u32, body_bytes: u64, is_acked: bool) -> bool {
        let (queue, count) = (&mut self.slab[id.0 as usize], u64::from(count));
        queue.unacknowledged -= count;
        queue.unacknowledged_bytes -= body_bytes;
        if is_acked {
            queue.counts.counted.ack += count;
        } else {
            queue.counts.returned += count;
        }
        if queue.is_deleted {
            // A returned delivery of a deleted queue has no queue to return to.
            queue.counts.gone += if is_acked { 0 } else { count };
            if queue.unacknowledged == 0 {
                self.remove(id);
            }
            return false;
        }
        true
    }
}
