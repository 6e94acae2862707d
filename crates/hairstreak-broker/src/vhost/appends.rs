//! `Appends`: the changes of logged queues that the message log has not seen: messages that left, and messages that came back.
//!
//! A durable queue is logged if the host has a message log. The log gets each persistent message of such a queue, unless its
//! durability is `memory`, and every message of a quorum queue, by [`HostOutbox::append`](super::HostOutbox::append) when the queue gets it. The server takes the
//! other changes at the end of a turn: a change never comes before its message.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::queue::Durability;

/// A message in a logged queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogTarget {
    /// Id of the queue.
    pub queue: u64,
    /// Place of the message in the queue.
    pub sequence: u64,
    /// Milliseconds for which the message lives in the queue.
    pub ttl_ms: Option<u64>,
}

/// Messages of a logged queue with consecutive places and bodies of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRun {
    /// Id of the queue.
    pub queue: u64,
    /// Place of the first message.
    pub first: u64,
    /// Number of messages.
    pub count: u64,
    /// Bytes of each body.
    pub body_size: u64,
}

/// A change of a logged queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogChange {
    /// Messages left the queue for good.
    Settled(LogRun),
    /// A message came back to its place.
    Returned {
        /// Id of the queue.
        queue: u64,
        /// Place of the message.
        sequence: u64,
        /// Returns so far.
        count: u16,
    },
    /// Messages left the queue for good: all that are in the queue from one place to another.
    Dropped {
        /// Id of the queue.
        queue: u64,
        /// First place.
        first: u64,
        /// Last place.
        last: u64,
    },
    /// Messages may be delivered from now on.
    Leased {
        /// Id of the queue.
        queue: u64,
        /// Place of the last message.
        through: u64,
    },
    /// The queue is deleted with its messages.
    Forgotten {
        /// Id of the queue.
        queue: u64,
    },
}

/// Changes that the server takes, and the targets of the message that is being published.
#[derive(Debug, Default)]
pub(super) struct Appends {
    changes: Vec<LogChange>,
    targets: Vec<LogTarget>,
    /// The strictest durability of the targets.
    durability: Durability,
    /// The source of queue ids. `None`: the host has no log.
    ids: Option<Arc<AtomicU64>>,
}

impl Appends {
    /// Logs the queues that are added from now on. `ids` has the last id of a queue of the node.
    pub(super) fn log(&mut self, ids: Arc<AtomicU64>) {
        self.ids = Some(ids);
    }

    /// Returns true if the host has a log.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.ids.is_some()
    }

    /// Returns the id of a queue that is added. 0: the queue is not logged. `given`: the id of a restored queue, or 0.
    pub(super) fn id_for(&self, given: u64, is_durable: bool) -> u64 {
        match &self.ids {
            Some(_) if is_durable && given == 0 => self.next_id(),
            Some(_) if is_durable => given,
            _ => 0,
        }
    }

    /// Returns an id that no queue and no pages of the node have had.
    pub(super) fn next_id(&self) -> u64 {
        self.ids.as_ref().map_or(0, |ids| ids.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Notes a queue that has the message that is being published.
    pub(super) fn note_target(&mut self, target: LogTarget, durability: Durability) {
        self.durability = if self.has_targets() { self.durability.max(durability) } else { durability };
        self.targets.push(target);
    }

    /// Returns true if a logged queue has the message that is being published.
    #[inline]
    pub(super) fn has_targets(&self) -> bool {
        !self.targets.is_empty()
    }

    /// The logged queues that have the message that is being published, and their strictest durability.
    pub(super) fn targets(&self) -> (&[LogTarget], Durability) {
        (&self.targets, self.durability)
    }

    /// The message log has the message.
    pub(super) fn clear_targets(&mut self) {
        self.targets.clear();
    }

    /// Notes a message that left a queue for good.
    pub(super) fn note_settled(&mut self, queue: u64, sequence: u64, body_size: u32) {
        let body_size = u64::from(body_size);
        if let Some(LogChange::Settled(run)) = self.changes.last_mut()
            && (run.queue, run.first + run.count, run.body_size) == (queue, sequence, body_size)
        {
            run.count += 1;
            return;
        }
        self.changes.push(LogChange::Settled(LogRun { queue, first: sequence, count: 1, body_size }));
    }

    pub(super) fn push(&mut self, change: LogChange) {
        self.changes.push(change);
    }

    /// The changes since they were taken last.
    pub(super) fn changes(&mut self) -> &mut Vec<LogChange> {
        &mut self.changes
    }
}
