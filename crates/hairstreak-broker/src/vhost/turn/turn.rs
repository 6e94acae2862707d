//! `Turn`: one call of a virtual host: its parts, the time, and the outbox that is lent.

use crate::message::MessageId;
use crate::queue::{Entry, QueueId, Reason};
use crate::vhost::letters::Letter;
use crate::vhost::parts::Parts;

/// One call of a virtual host. The operations are in the other files of the folder.
pub(in crate::vhost) struct Turn<'a, O> {
    pub(super) parts: &'a mut Parts,
    pub(super) now: u64,
    pub(super) outbox: &'a mut O,
    /// How many messages may still expire, and dead letters be written, in this turn.
    pub(super) budget: usize,
}

impl<'a, O> Turn<'a, O> {
    #[inline]
    pub(in crate::vhost) fn new(parts: &'a mut Parts, now: u64, outbox: &'a mut O) -> Turn<'a, O> {
        let budget = parts.limits.slice_max;
        Turn { parts, now, outbox, budget }
    }

    /// Notes that messages or consumers of a queue changed, so that some may find each other.
    pub(super) fn touch(&mut self, id: QueueId) {
        let queue = self.parts.queues.get_mut(id);
        if !queue.is_touched {
            queue.is_touched = true;
            self.parts.touched.push(id);
        }
    }

    /// The message is dead for its queue: a dead letter if the queue has an exchange for them. The entry is in no list.
    pub(super) fn bury(&mut self, id: QueueId, entry: Entry, reason: Reason) {
        self.bury_message(id, entry.message, reason);
    }

    pub(super) fn bury_message(&mut self, id: QueueId, message: MessageId, reason: Reason) {
        if self.parts.queues.get(id).settings.dead_letter.is_some() {
            self.parts.letters.push(Letter { message, queue: id, reason });
        } else {
            self.parts.store.release(message);
        }
    }

    /// Takes the first waiting message, which `front` has shown, out of the queue.
    #[inline]
    pub(super) fn remove_front(&mut self, id: QueueId, front: &Entry) {
        let body_size = self.parts.store.body_size(front.message);
        let ready = &mut self.parts.queues.get_mut(id).ready;
        let before = ready.memory_bytes();
        ready.remove_front(front.priority, body_size);
        let after = ready.memory_bytes();
        self.parts.queues.note_memory(before, after);
    }
}
