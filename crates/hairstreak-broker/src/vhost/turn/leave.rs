//! Leaving: consumers, channels, connections and queues go.

use hairstreak_wire::amqp::ReplyCode;

use super::context::Turn;
use crate::queue::QueueId;
use crate::refusal::Refusal;
use crate::vhost::{ChannelId, ConnectionId, ConsumerId, HostOutbox};

impl<O: HostOutbox> Turn<'_, O> {
    /// Takes a consumer out of its channel and its queue. Returns the queue if it has to go with its last consumer.
    pub(super) fn remove_consumer(&mut self, id: ConsumerId) -> Option<QueueId> {
        self.parts.unstall(id);
        let consumer = self.parts.consumers.get(id);
        let (queue_id, channel) = (consumer.queue, consumer.channel);
        self.parts.channels.get_mut(channel).consumers.retain(|other| *other != id);
        let queue = self.parts.queues.get_mut(queue_id);
        let next = queue.remove_consumer(id, &self.parts.consumers);
        let is_unused = queue.consumers.is_empty();
        let is_auto_delete = queue.declaration.is_auto_delete;
        self.parts.consumers.cancel(id);
        if let Some(next) = next {
            self.parts.activate(next);
        }
        if is_unused {
            self.parts.note_use(queue_id, self.now);
        }
        (is_unused && is_auto_delete).then_some(queue_id)
    }

    pub(in crate::vhost) fn close_channel(&mut self, id: ChannelId) {
        self.remove_channel(id);
        self.finish();
    }

    fn remove_channel(&mut self, id: ChannelId) {
        if let Some(reply) = self.parts.channels.get_mut(id).reply_consumer.take() {
            self.parts.replies.remove(&reply.address);
            self.parts.consumers.cancel(reply.consumer);
        }
        // Consumers go first, so that nothing that returns is delivered to the channel that goes.
        let consumers = std::mem::take(&mut self.parts.channels.get_mut(id).consumers);
        let unused: Vec<QueueId> =
            consumers.into_iter().filter_map(|consumer| self.remove_consumer(consumer)).collect();
        self.parts.channels.release_held(id);
        self.requeue_all(id);
        self.parts.channels.close(id);
        self.parts.counted.channels_closed += 1;
        unused.into_iter().for_each(|queue| self.delete_queue(queue));
    }

    pub(in crate::vhost) fn close_connection(&mut self, id: ConnectionId) {
        let channels = std::mem::take(&mut self.parts.channels.connection_mut(id).channels);
        channels.into_iter().for_each(|channel| self.remove_channel(channel));
        let queues = std::mem::take(&mut self.parts.channels.connection_mut(id).exclusive_queues);
        queues.into_iter().for_each(|queue| self.delete_queue(queue));
        self.parts.channels.close_connection(id);
        self.finish();
    }

    /// Deletes the queue of that name, and returns how many messages waited.
    pub(in crate::vhost) fn delete_named(
        &mut self,
        user: ConnectionId,
        name: &[u8],
        if_unused: bool,
        if_empty: bool,
    ) -> Result<u32, Refusal> {
        let Some(id) = self.parts.queues.find(name) else { return Ok(0) };
        let queue = self.parts.queues.get(id);
        self.parts.check_access(queue, user)?;
        let refuse = |text| Err(Refusal::new(ReplyCode::PreconditionFailed, text));
        let shown = self.parts.show(name);
        if if_unused && !queue.consumers.is_empty() {
            return refuse(format!("{shown} in use"));
        }
        if if_empty && !queue.ready.is_empty() {
            return refuse(format!("{shown} not empty"));
        }
        let message_count = queue.message_count();
        self.delete_queue(id);
        self.finish();
        Ok(message_count)
    }

    /// Deletes a queue with the messages that wait. The consumers are told.
    pub(in crate::vhost) fn delete_queue(&mut self, id: QueueId) {
        // A letter may come back to the queue, and die there again.
        while self.parts.letters.iter().any(|letter| letter.queue == id) {
            for letter in self.parts.letters.take_of(id) {
                self.write_letter(&letter);
            }
        }
        let consumers = std::mem::take(&mut self.parts.queues.get_mut(id).consumers);
        for consumer in consumers {
            self.outbox.cancel(&self.parts.consumers.get(consumer).recipient);
            self.parts.unstall(consumer);
            let channel = self.parts.consumers.get(consumer).channel;
            self.parts.channels.get_mut(channel).consumers.retain(|other| *other != consumer);
            self.parts.consumers.cancel(consumer);
        }
        self.parts.drop_ready(id);
        self.parts.exchanges.remove_queue(id);
        self.parts.timers.cancel(id);
        self.parts.touched.retain(|other| *other != id);
        if let Some(owner) = self.parts.queues.get(id).owner {
            self.parts.channels.connection_mut(owner).exclusive_queues.retain(|other| *other != id);
        }
        self.parts.queues.delete(id);
        self.parts.counted.queues_deleted += 1;
    }
}
