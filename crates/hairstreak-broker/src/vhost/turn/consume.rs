//! Consuming: consumers begin and end, and messages are taken one by one.

use hairstreak_wire::amqp::FieldValue;

use super::context::Turn;
use super::dispatch::count_deliveries;
use crate::message::MessageView;
use crate::queue::{Consumer, ConsumerDeclaration, QueueId, QueueKind, Standing};
use crate::refusal::Refusal;
use crate::vhost::outbox::REPLY_TO;
use crate::vhost::parts::Parts;
use crate::vhost::unacked::Unacked;
use crate::vhost::{ChannelId, ConnectionId, HostOutbox};

/// Consumers whose tags are compared in one step.
const SEARCHED_PER_STEP: usize = 8;

/// The fields of `basic.get-ok` beside the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Got {
    /// The delivery tag.
    pub delivery_tag: u64,
    /// Whether the message was delivered before.
    pub is_redelivered: bool,
    /// How many messages still wait.
    pub message_count: u32,
}

impl<O: HostOutbox> Turn<'_, O> {
    pub(in crate::vhost) fn consume(
        &mut self,
        channel: ChannelId,
        declaration: &ConsumerDeclaration<'_>,
        started: impl FnOnce(&mut O, &[u8]),
    ) -> Result<(), Refusal> {
        charge_search(self.parts, channel);
        self.parts.check_tag(channel, declaration.consumer_tag)?;
        let tag = match declaration.consumer_tag {
            [] => self.parts.names.next("amq.ctag-"),
            tag => tag.into(),
        };
        if declaration.queue == REPLY_TO {
            self.parts.add_reply_consumer(channel, declaration, &tag)?;
            started(self.outbox, &tag);
            return Ok(());
        }
        let queue = self.parts.check_consumer(channel, declaration)?;
        started(self.outbox, &tag);
        self.add_consumer(channel, queue, declaration, tag);
        self.finish();
        Ok(())
    }

    fn add_consumer(
        &mut self,
        channel: ChannelId,
        queue_id: QueueId,
        declaration: &ConsumerDeclaration<'_>,
        tag: Box<[u8]>,
    ) {
        let prefetch = self.parts.channels.get(channel).consumer_prefetch;
        let is_exclusive = self.parts.queues.get(queue_id).is_exclusive_for(declaration);
        let priority = declaration.arguments.get("x-priority").and_then(FieldValue::as_i64).unwrap_or(0);
        let id = self.parts.consumers.add(Consumer {
            recipient: self.parts.recipient(channel, tag),
            channel,
            queue: queue_id,
            no_ack: declaration.no_ack,
            is_exclusive,
            standing: Standing::Waiting,
            waits_since: 0,
            prefetch,
            unacknowledged: 0,
            priority,
            arguments: declaration.arguments.into(),
        });
        self.parts.channels.get_mut(channel).consumers.push(id);
        self.parts.note_use(queue_id, self.now);
        let queue = self.parts.queues.get_mut(queue_id);
        if queue.add_consumer(id) {
            queue.rotation.add(id, priority);
            self.parts.consumers.get_mut(id).standing = Standing::InTurn;
            self.parts.touch(queue_id);
        }
    }

    pub(in crate::vhost) fn cancel(&mut self, channel: ChannelId, tag: &[u8]) {
        charge_search(self.parts, channel);
        let Some(id) = self.parts.find_consumer(channel, tag) else { return };
        let replies = &mut self.parts.channels.get_mut(channel).reply_consumer;
        if let Some(reply) = replies.take_if(|reply| reply.consumer == id) {
            self.parts.replies.remove(&reply.address);
            self.parts.consumers.cancel(id);
            return;
        }
        if let Some(unused) = self.remove_consumer(id) {
            let owner = self.parts.channels.get(channel).connection;
            self.delete_queue(unused, Some(owner));
        }
        self.finish();
    }

    pub(in crate::vhost) fn get(
        &mut self,
        channel: ChannelId,
        queue: &[u8],
        no_ack: bool,
        take: impl FnOnce(&mut O, Got, &MessageView<'_>),
    ) -> Result<bool, Refusal> {
        let connection = self.parts.channels.get(channel).connection;
        let id = self.parts.find_queue(connection, queue)?;
        self.parts.check_get(id)?;
        self.parts.note_use(id, self.now);
        // However many messages have expired: the first one that has not is the answer.
        self.budget = usize::MAX;
        let is_taken = self.expire_fronts(id) && self.take_front(channel, id, no_ack, take);
        if !is_taken {
            self.parts.queues.get_mut(id).counts.counted.get_empty += 1;
            self.parts.channels.get_mut(channel).counted.messages.get_empty += 1;
        }
        self.finish();
        Ok(is_taken)
    }

    fn take_front(
        &mut self,
        channel: ChannelId,
        id: QueueId,
        no_ack: bool,
        take: impl FnOnce(&mut O, Got, &MessageView<'_>),
    ) -> bool {
        let Some(front) = self.parts.queues.get(id).ready.front().copied() else { return false };
        let body_size = self.parts.remove_front(id, &front);
        // The count of messages leaves out those that have expired.
        self.expire_fronts(id);
        let queue = self.parts.queues.get_mut(id);
        if !no_ack {
            queue.note_unacknowledged(body_size);
        }
        queue.counts.counted.note_get(no_ack, front.is_redelivered());
        let counted = &mut self.parts.channels.get_mut(channel).counted.messages;
        counted.note_get(no_ack, front.is_redelivered());
        let got = Got {
            delivery_tag: self.parts.channels.get_mut(channel).take_tag(),
            is_redelivered: front.is_redelivered(),
            message_count: queue.message_count(),
        };
        let mut properties = Vec::new();
        let mut view = self.parts.store.view(front.message);
        // A consumer sees the count of a message that came back, and basic.get each count, as in RabbitMQ.
        if queue.kind == QueueKind::Quorum {
            count_deliveries(&mut view, front.return_count, &mut properties);
        }
        take(self.outbox, got, &view);
        if no_ack {
            self.parts.store.release(front.message);
        } else {
            self.parts.channels.push_unacked(channel, Unacked::new(got.delivery_tag, id, None, front));
        }
        true
    }

    pub(in crate::vhost) fn set_prefetch(&mut self, channel: ChannelId, count: u16, is_global: bool) {
        let prefetch = if count == 0 { u32::MAX } else { count.into() };
        let parts = self.parts.channels.get_mut(channel);
        if is_global {
            parts.prefetch = prefetch;
        } else {
            // As in RabbitMQ the limit of the whole channel ends with that of its consumers to come.
            (parts.consumer_prefetch, parts.prefetch) = (prefetch, u32::MAX);
        }
        self.parts.revive_channel(channel);
        self.finish();
    }

    pub(in crate::vhost) fn set_flow(&mut self, channel: ChannelId, is_active: bool) {
        self.parts.channels.get_mut(channel).is_flowing = is_active;
        if is_active {
            self.parts.revive_channel(channel);
            self.finish();
        }
    }

    pub(in crate::vhost) fn handle_room(&mut self, id: ConnectionId) {
        let connection = self.parts.channels.connection_mut(id);
        if !std::mem::take(&mut connection.is_full) {
            return;
        }
        let channels = connection.channels.clone();
        channels.into_iter().for_each(|channel| self.parts.revive_channel(channel));
        self.finish();
    }
}

/// A consumer of the channel is searched by its tag.
fn charge_search(parts: &mut Parts, channel: ChannelId) {
    let count = parts.channels.get(channel).consumers.len();
    parts.steps.charge(1 + count / SEARCHED_PER_STEP);
}
