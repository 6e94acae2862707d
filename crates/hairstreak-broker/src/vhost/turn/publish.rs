//! Publishing: a message takes its route into queues and to reply consumers.

use super::context::Turn;
use super::dispatch::{end_publish, hand_over, store_once};
use crate::message::{Message, MessageId};
use crate::queue::{Entry, Overflow, QueueId, Reason};
use crate::vhost::parts::Parts;
use crate::vhost::{HostOutbox, Published, Route};

impl<O: HostOutbox> Turn<'_, O> {
    /// Publishes a message along a route that holds.
    #[inline]
    pub(in crate::vhost) fn publish(&mut self, route: &Route, message: &Message<'_>) -> Published {
        for address in &route.replies {
            self.deliver_reply(address, message);
        }
        if self.parts.store.count() >= self.parts.limits.messages_max {
            return Published::Refused;
        }
        let mut stored = None;
        let mut published = if route.targets.is_empty() { Published::Unroutable } else { Published::Routed };
        for target in &route.targets {
            if !self.enqueue(*target, message, &mut stored) {
                published = Published::Refused;
            }
        }
        end_publish(&mut self.parts.store, stored);
        self.finish();
        published
    }

    #[cold]
    fn deliver_reply(&mut self, address: &[u8], message: &Message<'_>) {
        let parts = &mut *self.parts;
        if let Some(consumer) = parts.replies.get(address).copied() {
            let view = message.view();
            hand_over(&parts.consumers, &mut parts.channels, self.outbox, consumer, false, &view);
            let channel = parts.consumers.get(consumer).channel;
            parts.channels.get_mut(channel).note_reply();
        }
    }

    /// Puts a message into a queue, or gives it to one of the queue's consumers. Returns whether the queue takes it.
    /// `stored` is the message's number once it is stored.
    #[inline]
    pub(super) fn enqueue(
        &mut self,
        id: QueueId,
        message: &Message<'_>,
        stored: &mut Option<MessageId>,
    ) -> bool {
        let queue = self.parts.queues.get_mut(id);
        if queue.is_limited && queue.refuses(message.body.as_bytes().len()) {
            refuse(self.parts, id, message, stored);
            return false;
        }
        queue.ready.note_arrival();
        if queue.ready.is_empty()
            && !queue.rotation.is_empty()
            && let Some(consumer) = self.parts.next_consumer(id)
        {
            self.deliver_direct(id, consumer, message, stored);
        } else {
            self.keep(id, message, stored);
        }
        true
    }

    /// Appends the message that has arrived to those that wait.
    #[inline]
    fn keep(&mut self, id: QueueId, message: &Message<'_>, stored: &mut Option<MessageId>) {
        let parts = &mut *self.parts;
        let queue = parts.queues.get_mut(id);
        if queue.ready.is_empty() {
            queue.capacity.block(self.now);
        }
        let entry = Entry {
            sequence: queue.ready.last_sequence(),
            expires_at: queue.expiry_of(message.attributes.expiration_ms, self.now),
            message: store_once(&mut parts.store, message, stored),
            return_count: 0,
            priority: queue.ready.list_of(message.attributes.priority),
        };
        let before = queue.ready.memory_bytes();
        queue.ready.push(entry, message.body.as_bytes().len() as u32);
        let (after, is_limited) = (queue.ready.memory_bytes(), queue.is_limited);
        let may_expire = queue.ready.may_expire();
        if before != after {
            parts.queues.note_memory(before, after);
        }
        if is_limited || may_expire {
            self.shorten(id);
            self.expire_fronts(id);
        }
    }
}

/// The queue has no room for a message.
#[cold]
fn refuse(parts: &mut Parts, id: QueueId, message: &Message<'_>, stored: &mut Option<MessageId>) {
    parts.queues.get_mut(id).counts.refused += 1;
    if parts.queues.get(id).settings.overflow == Overflow::RejectPublishDeadLetter {
        let message = store_once(&mut parts.store, message, stored);
        parts.bury(id, message, Reason::MaxLength);
    }
}
