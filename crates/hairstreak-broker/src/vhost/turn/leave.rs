//! Leaving: consumers, channels, connections and queues go.

use hairstreak_wire::amqp::ReplyCode;

use super::context::Turn;
use super::settle::{settle_some_held, settle_through};
use crate::exchange::Destination;
use crate::queue::{QueueId, Ready, Rotation};
use crate::refusal::Refusal;
use crate::vhost::chores::Chore;
use crate::vhost::parts::Parts;
use crate::vhost::unacked::Settlement;
use crate::vhost::{ChannelId, ConnectionId, ConsumerId, HostOutbox};

/// The steps of a consumer that goes.
const CONSUMER_STEPS: usize = 4;
/// Consumers of the same queue or channel that are passed over in one step.
const PASSED_PER_STEP: usize = 64;
/// Consumers that are cancelled at once.
const CANCELLED_COUNT: usize = 256;
/// The steps of a queue that goes.
const QUEUE_STEPS: usize = 16;

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
        let owner = self.parts.channels.get(id).connection;
        let ended_count = self.parts.chores.forget_channel(id);
        self.parts.channels.connection_mut(owner).chore_count -= ended_count;
        begin_closing(self, id);
        self.start(Some(owner), Chore::CloseChannel(id));
        self.finish();
    }

    pub(in crate::vhost) fn close_connection(&mut self, id: ConnectionId) {
        self.parts.chores.forget_owner(id);
        let connection = self.parts.channels.connection_mut(id);
        (connection.is_full, connection.chore_count) = (true, 0);
        for channel in connection.channels.clone() {
            begin_closing(self, channel);
        }
        self.start(None, Chore::CloseConnection(id));
        self.finish();
    }

    pub(in crate::vhost) fn delete_exchange(
        &mut self,
        owner: ConnectionId,
        name: &[u8],
        if_unused: bool,
    ) -> Result<(), Refusal> {
        self.parts.exchanges.begin_delete(name, if_unused)?;
        self.start(Some(owner), Chore::DeleteExchanges);
        Ok(())
    }

    /// Deletes the queue of that name, and returns how many messages waited.
    pub(in crate::vhost) fn delete_named(
        &mut self,
        user: ConnectionId,
        name: &[u8],
        if_unused: bool,
        if_empty: bool,
    ) -> Result<u32, Refusal> {
        let found = self.parts.queues.find(name);
        let Some(id) = found.filter(|id| !self.parts.queues.get(*id).is_going) else { return Ok(0) };
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
        self.delete_queue(id, Some(user));
        self.finish();
        Ok(message_count)
    }

    /// Deletes a queue with the messages that wait. The consumers are told.
    pub(in crate::vhost) fn delete_queue(&mut self, id: QueueId, owner: Option<ConnectionId>) {
        if begin_deletion(self, id) {
            self.start(owner, Chore::DeleteQueue(id));
        }
    }
}

/// The queue has nothing left, and goes.
fn forget_queue(parts: &mut Parts, id: QueueId) {
    parts.exchanges.forget_queue(id);
    parts.timers.cancel(id);
    if parts.queues.get(id).is_touched {
        parts.touched.retain(|other| *other != id);
    }
    if let Some(owner) = parts.queues.get(id).owner {
        let queues = &mut parts.channels.connection_mut(owner).exclusive_queues;
        if queues.pop_if(|last| *last == id).is_none() {
            queues.retain(|other| *other != id);
        }
    }
    parts.queues.delete(id);
    parts.counted.queues_deleted += 1;
}

/// Nothing more is delivered to the channel.
fn begin_closing<O: HostOutbox>(turn: &mut Turn<'_, O>, id: ChannelId) {
    let channel = turn.parts.channels.get_mut(id);
    channel.is_flowing = false;
    if let Some(reply) = channel.reply_consumer.take() {
        turn.parts.replies.remove(&reply.address);
        turn.parts.consumers.cancel(reply.consumer);
    }
}

/// Goes on with closing a channel. Returns whether the channel is closed.
pub(super) fn go_on_closing<O: HostOutbox>(turn: &mut Turn<'_, O>, id: ChannelId) -> bool {
    // Consumers go first, so that nothing that returns is delivered to the channel that goes.
    while let Some(consumer) = turn.parts.channels.get(id).consumers.first().copied() {
        if turn.parts.steps.are_spent() {
            return false;
        }
        let queue = turn.parts.queues.get(turn.parts.consumers.get(consumer).queue);
        let passed_count = queue.consumers.len() + turn.parts.channels.get(id).consumers.len();
        turn.parts.steps.charge(CONSUMER_STEPS + passed_count / PASSED_PER_STEP);
        if let Some(unused) = turn.remove_consumer(consumer) {
            let owner = turn.parts.channels.get(id).connection;
            turn.delete_queue(unused, Some(owner));
        }
    }
    let requeue = Settlement::Reject { requeue: true };
    let mut held_count = turn.parts.channels.get(id).held().len();
    if !settle_some_held(turn, id, &mut held_count, requeue) || !settle_through(turn, id, u64::MAX, requeue) {
        return false;
    }
    turn.parts.channels.close(id);
    turn.parts.counted.channels_closed += 1;
    true
}

/// Goes on with a connection that leaves. Returns whether it has left.
pub(super) fn go_on_leaving<O: HostOutbox>(turn: &mut Turn<'_, O>, id: ConnectionId) -> bool {
    while let Some(channel) = turn.parts.channels.connection_mut(id).channels.first().copied() {
        turn.parts.steps.charge(CONSUMER_STEPS);
        if turn.parts.steps.are_spent() || !go_on_closing(turn, channel) {
            return false;
        }
    }
    // A queue of which much is left is a chore of its own.
    while !turn.parts.steps.are_spent()
        && let Some(queue) = turn.parts.channels.connection_mut(id).exclusive_queues.pop()
    {
        turn.delete_queue(queue, None);
    }
    if !turn.parts.channels.connection_mut(id).exclusive_queues.is_empty() {
        return false;
    }
    turn.parts.channels.close_connection(id);
    turn.outbox.has_left(id);
    true
}

/// Nothing more is delivered from the queue. Returns false if the queue is being deleted already.
fn begin_deletion<O: HostOutbox>(turn: &mut Turn<'_, O>, id: QueueId) -> bool {
    let queue = turn.parts.queues.get_mut(id);
    queue.rotation = Rotation::default();
    !std::mem::replace(&mut queue.is_going, true)
}

/// Goes on with deleting a queue, which keeps its name until its bindings are gone. Returns the messages that waited if the queue is gone.
pub(super) fn go_on_deleting<O: HostOutbox>(turn: &mut Turn<'_, O>, id: QueueId) -> Option<Ready> {
    while turn.parts.queues.get(id).counts.unwritten_letters > 0 {
        if turn.parts.steps.are_spent() || !turn.write_next_letter() {
            return None;
        }
    }
    while !turn.parts.queues.get(id).consumers.is_empty() {
        if turn.parts.steps.are_spent() {
            return None;
        }
        cancel_some(turn, id);
    }
    let Parts { exchanges, steps, .. } = &mut *turn.parts;
    if !exchanges.unbind_all_to(Destination::Queue(id), steps) || !exchanges.remove_going(steps) {
        return None;
    }
    turn.parts.steps.charge(QUEUE_STEPS);
    let ready = turn.parts.queues.get_mut(id).take_ready();
    forget_queue(turn.parts, id);
    Some(ready)
}

/// Cancels some consumers of a queue, in the order in which they came.
fn cancel_some<O: HostOutbox>(turn: &mut Turn<'_, O>, id: QueueId) {
    let consumers = &mut turn.parts.queues.get_mut(id).consumers;
    let count = consumers.len().min(CANCELLED_COUNT).min(turn.parts.steps.left() / CONSUMER_STEPS + 1);
    let consumers: Vec<ConsumerId> = consumers.drain(..count).collect();
    for consumer in consumers {
        turn.outbox.cancel(&turn.parts.consumers.get(consumer).recipient);
        turn.parts.unstall(consumer);
        let channel = turn.parts.consumers.get(consumer).channel;
        let of_channel = &mut turn.parts.channels.get_mut(channel).consumers;
        turn.parts.steps.charge(CONSUMER_STEPS + of_channel.len() / PASSED_PER_STEP);
        of_channel.retain(|other| *other != consumer);
        turn.parts.consumers.cancel(consumer);
    }
}
