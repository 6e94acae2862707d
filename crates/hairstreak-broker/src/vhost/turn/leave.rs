//! Leaving: consumers, channels, connections and queues go.

use hairstreak_wire::amqp::ReplyCode;

use super::letters::write_next_letter;
use super::settle::{settle_some_held, settle_through};
use crate::exchange::Destination;
use crate::queue::{QueueId, Rotation};
use crate::refusal::Refusal;
use crate::vhost::LogChange;
use crate::vhost::chores::{Chore, Dropped};
use crate::vhost::credit::{activate, unstall};
use crate::vhost::declare::drop_messages;
use crate::vhost::parts::{Parts, Turn};
use crate::vhost::unacked::Settlement;
use crate::vhost::{ChannelId, ConnectionId, ConsumerId, HostOutbox};

/// Steps of the removal of a consumer.
const CONSUMER_STEPS: usize = 4;
/// Consumers of the same queue or channel that are passed over in one step.
const PASSED_PER_STEP: usize = 64;
/// Number of consumers that are cancelled in one call.
const CANCELLED_COUNT: usize = 256;
/// Steps of the removal of a queue.
const QUEUE_STEPS: usize = 16;

/// Removes a consumer from its channel and its queue. Returns the queue if it must be deleted with its last consumer.
pub(super) fn remove_consumer<O: HostOutbox>(turn: &mut Turn<'_, O>, id: ConsumerId) -> Option<QueueId> {
    unstall(turn.parts, id);
    let consumer = turn.parts.consumers.get(id);
    let (queue_id, channel) = (consumer.queue, consumer.channel);
    turn.parts.channels.get_mut(channel).consumers.retain(|other| *other != id);
    let queue = turn.parts.queues.get_mut(queue_id);
    let next = queue.remove_consumer(id, &turn.parts.consumers);
    let is_unused = queue.consumers.is_empty();
    let is_auto_delete = queue.declaration.is_auto_delete;
    turn.parts.consumers.cancel(id);
    if let Some(next) = next {
        activate(turn.parts, next);
    }
    if is_unused {
        turn.parts.note_use(queue_id, turn.now);
    }
    (is_unused && is_auto_delete).then_some(queue_id)
}

pub(in crate::vhost) fn close_channel<O: HostOutbox>(turn: &mut Turn<'_, O>, id: ChannelId) {
    let owner = turn.parts.channels.get(id).connection;
    let ended_count = turn.parts.chores.forget_channel(id);
    turn.parts.channels.connection_mut(owner).chore_count -= ended_count;
    begin_closing(turn.parts, id);
    if !go_on_closing(turn, id) {
        turn.parts.put_off(Some(owner), Chore::CloseChannel(id));
    }
}

pub(in crate::vhost) fn close_connection<O: HostOutbox>(turn: &mut Turn<'_, O>, id: ConnectionId) {
    turn.parts.chores.forget_owner(id);
    let connection = turn.parts.channels.connection_mut(id);
    (connection.is_full, connection.chore_count) = (true, 0);
    for channel in connection.channels.clone() {
        begin_closing(turn.parts, channel);
    }
    if !go_on_leaving(turn, id) {
        turn.parts.put_off(None, Chore::CloseConnection(id));
    }
}

pub(in crate::vhost) fn delete_exchange(
    parts: &mut Parts,
    owner: ConnectionId,
    name: &[u8],
    if_unused: bool,
) -> Result<(), Refusal> {
    parts.exchanges.begin_delete(name, if_unused)?;
    if !parts.exchanges.topology.remove_going(&mut parts.steps) {
        parts.put_off(Some(owner), Chore::DeleteExchanges);
    }
    Ok(())
}

/// Deletes the queue of that name, and returns the number of messages that waited.
pub(in crate::vhost) fn delete_named<O: HostOutbox>(
    turn: &mut Turn<'_, O>,
    user: ConnectionId,
    name: &[u8],
    if_unused: bool,
    if_empty: bool,
) -> Result<u32, Refusal> {
    let found = turn.parts.queues.find(name);
    let Some(id) = found.filter(|id| !turn.parts.queues.get(*id).is_going) else { return Ok(0) };
    let queue = turn.parts.queues.get(id);
    turn.parts.check_access(queue, user)?;
    let refuse = |text| Err(Refusal::new(ReplyCode::PreconditionFailed, text));
    let shown = turn.parts.show(name);
    if if_unused && !queue.consumers.is_empty() {
        return refuse(format!("{shown} in use"));
    }
    if if_empty && !queue.ready.is_empty() {
        return refuse(format!("{shown} not empty"));
    }
    let message_count = queue.message_count();
    delete_queue(turn, id, Some(user));
    Ok(message_count)
}

/// Deletes a queue with its waiting messages. The consumers are notified.
pub(in crate::vhost) fn delete_queue<O: HostOutbox>(
    turn: &mut Turn<'_, O>,
    id: QueueId,
    owner: Option<ConnectionId>,
) {
    if !begin_deletion(turn.parts, id) {
        return;
    }
    match go_on_deleting(turn, id) {
        None => turn.parts.put_off(owner, Chore::DeleteQueue(id)),
        Some(mut dropped) => {
            if !drop_messages(turn.parts, &mut dropped) {
                turn.parts.put_off(owner, Chore::Drop(dropped));
            }
        }
    }
}

/// Removes an empty queue.
fn forget_queue(parts: &mut Parts, id: QueueId) {
    parts.exchanges.topology.forget_queue(id);
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
fn begin_closing(parts: &mut Parts, id: ChannelId) {
    let channel = parts.channels.get_mut(id);
    channel.is_flowing = false;
    if let Some(reply) = channel.reply_consumer.take() {
        parts.replies.remove(&reply.address);
        parts.consumers.cancel(reply.consumer);
    }
}

/// Continues to close a channel. Returns true if the channel is closed.
pub(super) fn go_on_closing<O: HostOutbox>(turn: &mut Turn<'_, O>, id: ChannelId) -> bool {
    // Consumers are removed first, so that no returned message is delivered to the closing channel.
    while let Some(consumer) = turn.parts.channels.get(id).consumers.first().copied() {
        if turn.parts.steps.are_spent() {
            return false;
        }
        let queue = turn.parts.queues.get(turn.parts.consumers.get(consumer).queue);
        let passed_count = queue.consumers.len() + turn.parts.channels.get(id).consumers.len();
        turn.parts.steps.charge(CONSUMER_STEPS + passed_count / PASSED_PER_STEP);
        if let Some(unused) = remove_consumer(turn, consumer) {
            let owner = turn.parts.channels.get(id).connection;
            delete_queue(turn, unused, Some(owner));
        }
    }
    let requeue = Settlement::Reject { requeue: true };
    let mut held_count = turn.parts.channels.get(id).held().len();
    if !settle_some_held(turn.parts, id, &mut held_count, requeue)
        || !settle_through(turn.parts, id, u64::MAX, requeue)
    {
        return false;
    }
    turn.parts.channels.close(id);
    turn.parts.counted.channels_closed += 1;
    true
}

/// Continues to remove a connection. Returns true if it has left.
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
        delete_queue(turn, queue, None);
    }
    if !turn.parts.channels.connection_mut(id).exclusive_queues.is_empty() {
        return false;
    }
    turn.parts.channels.close_connection(id);
    turn.outbox.has_left(id);
    true
}

/// Nothing more is delivered from the queue. Returns false if the queue is being deleted already.
fn begin_deletion(parts: &mut Parts, id: QueueId) -> bool {
    let queue = parts.queues.get_mut(id);
    queue.rotation = Rotation::default();
    !std::mem::replace(&mut queue.is_going, true)
}

/// Continues to delete a queue, which keeps its name until its bindings are removed. Returns the waiting messages when the queue
/// is deleted.
pub(super) fn go_on_deleting<O: HostOutbox>(turn: &mut Turn<'_, O>, id: QueueId) -> Option<Dropped> {
    while turn.parts.queues.get(id).counts.unwritten_letters > 0 {
        if turn.parts.steps.are_spent() || !write_next_letter(turn) {
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
    let topology = &mut exchanges.topology;
    if !topology.unbind_all_to(Destination::Queue(id), steps) || !topology.remove_going(steps) {
        return None;
    }
    turn.parts.steps.charge(QUEUE_STEPS);
    let queue = turn.parts.queues.get_mut(id);
    // The log forgets the queue with all its messages.
    let (log_id, dropped) = (queue.log_id(), Dropped { ready: queue.take_ready(), log_id: 0 });
    if log_id != 0 {
        turn.parts.appends.push(LogChange::Forgotten { queue: log_id });
    }
    forget_queue(turn.parts, id);
    Some(dropped)
}

/// Cancels some consumers of a queue, in the order in which they came.
fn cancel_some<O: HostOutbox>(turn: &mut Turn<'_, O>, id: QueueId) {
    let consumers = &mut turn.parts.queues.get_mut(id).consumers;
    let count = consumers.len().min(CANCELLED_COUNT).min(turn.parts.steps.left() / CONSUMER_STEPS + 1);
    let consumers: Vec<ConsumerId> = consumers.drain(..count).collect();
    for consumer in consumers {
        turn.outbox.cancel(&turn.parts.consumers.get(consumer).recipient);
        unstall(turn.parts, consumer);
        let channel = turn.parts.consumers.get(consumer).channel;
        let of_channel = &mut turn.parts.channels.get_mut(channel).consumers;
        turn.parts.steps.charge(CONSUMER_STEPS + of_channel.len() / PASSED_PER_STEP);
        of_channel.retain(|other| *other != consumer);
        turn.parts.consumers.cancel(consumer);
    }
}
