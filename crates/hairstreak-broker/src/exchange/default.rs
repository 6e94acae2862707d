//! The default exchange: each queue is bound to it by its name, and by nothing else.

use foldhash::HashMap;

use crate::queue::QueueId;

#[derive(Debug, Default)]
pub(super) struct DefaultExchange {
    queues: HashMap<Box<[u8]>, QueueId>,
    /// The names of the queues, and whether they are durable.
    names: HashMap<QueueId, (Box<[u8]>, bool)>,
}

impl DefaultExchange {
    pub(super) fn add(&mut self, name: &[u8], queue: QueueId, is_durable: bool) {
        self.queues.insert(name.into(), queue);
        self.names.insert(queue, (name.into(), is_durable));
    }

    /// Takes a queue out. Returns its name, and whether the queue was durable.
    pub(super) fn remove(&mut self, queue: QueueId) -> Option<(Box<[u8]>, bool)> {
        let (name, is_durable) = self.names.remove(&queue)?;
        self.queues.remove(&name);
        Some((name, is_durable))
    }

    /// The name of a queue.
    pub(super) fn name_of(&self, queue: QueueId) -> Option<&[u8]> {
        self.names.get(&queue).map(|(name, _)| &**name)
    }

    /// Whether a queue is durable.
    pub(super) fn is_durable(&self, queue: QueueId) -> bool {
        self.names.get(&queue).is_some_and(|(_, is_durable)| *is_durable)
    }

    pub(super) fn find(&self, name: &[u8]) -> Option<QueueId> {
        self.queues.get(name).copied()
    }
}
