//! The default exchange: each queue is bound to it by its name, and by nothing else.

use foldhash::HashMap;

use crate::queue::QueueId;

#[derive(Debug, Default)]
pub(super) struct DefaultExchange {
    queues: HashMap<Box<[u8]>, QueueId>,
    names: HashMap<QueueId, Box<[u8]>>,
}

impl DefaultExchange {
    pub(super) fn add(&mut self, name: &[u8], queue: QueueId) {
        self.queues.insert(name.into(), queue);
        self.names.insert(queue, name.into());
    }

    pub(super) fn remove(&mut self, queue: QueueId) {
        if let Some(name) = self.names.remove(&queue) {
            self.queues.remove(&name);
        }
    }

    /// The name of a queue.
    pub(super) fn name_of(&self, queue: QueueId) -> Option<&[u8]> {
        self.names.get(&queue).map(|name| &**name)
    }

    pub(super) fn find(&self, name: &[u8]) -> Option<QueueId> {
        self.queues.get(name).copied()
    }
}
