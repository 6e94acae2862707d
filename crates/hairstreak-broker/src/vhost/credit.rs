//! Credit: which consumers can take messages. A delivery takes credit, and its settlement gives credit back.

use hairstreak_wire::amqp::ReplyCode;

use super::channels::Channels;
use super::outbox::{ChannelId, ConnectionId, ConsumerId};
use super::parts::Parts;
use super::unacked::Unacked;
use crate::queue::{Consumer, Entry, QueueId, Standing};
use crate::refusal::Refusal;

/// Deliveries of one queue to one consumer that are settled in one way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settled {
    pub(super) queue: QueueId,
    pub(super) consumer: Option<ConsumerId>,
    pub(super) count: u32,
    pub(super) body_bytes: u64,
    /// They are acknowledged: they do not return, and are not dead.
    pub(super) is_acked: bool,
}

impl Settled {
    /// One delivery that is not acknowledged.
    pub(super) fn returned(unacked: &Unacked, body_size: u32) -> Settled {
        Settled {
            queue: unacked.queue,
            consumer: unacked.consumer(),
            count: 1,
            body_bytes: body_size.into(),
            is_acked: false,
        }
    }
}

/// Notes that the messages or consumers of a queue changed, so that the queue may have something to deliver.
pub(super) fn touch(parts: &mut Parts, id: QueueId) {
    let queue = parts.queues.get_mut(id);
    if !queue.is_touched {
        queue.is_touched = true;
        parts.touched.push(id);
    }
}

/// Returns the consumer whose turn is next, and ends its turn. See [`first_consumer`].
#[inline]
pub(super) fn next_consumer(parts: &mut Parts, id: QueueId) -> Option<ConsumerId> {
    let first = first_consumer(parts, id)?;
    parts.queues.get_mut(id).rotation.turn();
    parts.consumers.get_mut(first).waits_since = 0;
    Some(first)
}

/// Returns the consumer whose turn is next. Consumers without credit leave the rotation until they have credit again.
#[inline]
pub(super) fn first_consumer(parts: &mut Parts, id: QueueId) -> Option<ConsumerId> {
    loop {
        let rotation = &mut parts.queues.get_mut(id).rotation;
        let first = rotation.first()?;
        let consumer = parts.consumers.get(first);
        if can_take(&parts.channels, consumer, parts.limits.unacknowledged_per_channel_max) {
            return Some(first);
        }
        rotation.remove_first();
        stall(parts, first);
    }
}

pub(super) fn stall(parts: &mut Parts, id: ConsumerId) {
    let consumer = parts.consumers.get_mut(id);
    let channel = parts.channels.get_mut(consumer.channel);
    channel.stall_count += 1;
    // A consumer that has taken nothing since it last stalled has waited since then.
    if consumer.waits_since == 0 {
        consumer.waits_since = channel.stall_count;
    }
    consumer.standing = Standing::Stalled(channel.stalled.len() as u32);
    channel.stalled.push(id);
}

/// Takes a consumer out of its channel's list of stalled consumers.
pub(super) fn unstall(parts: &mut Parts, id: ConsumerId) {
    let consumer = parts.consumers.get_mut(id);
    let Standing::Stalled(place) = consumer.standing else { return };
    consumer.standing = Standing::InTurn;
    let stalled = &mut parts.channels.get_mut(consumer.channel).stalled;
    stalled.swap_remove(place as usize);
    if let Some(moved) = stalled.get(place as usize) {
        parts.consumers.get_mut(*moved).standing = Standing::Stalled(place);
    }
}

/// A stalled consumer may have credit again.
pub(super) fn revive(parts: &mut Parts, id: ConsumerId) {
    let consumer = parts.consumers.get(id);
    if can_take(&parts.channels, consumer, parts.limits.unacknowledged_per_channel_max) {
        let (queue, priority) = (consumer.queue, consumer.priority);
        unstall(parts, id);
        if parts.queues.get(queue).is_going {
            return;
        }
        parts.queues.get_mut(queue).rotation.add(id, priority);
        touch(parts, queue);
    }
}

/// All stalled consumers of a channel may have credit again.
pub(super) fn revive_channel(parts: &mut Parts, channel: ChannelId) {
    // Consumers that have waited longest go first, in each queue and among the queues. The queue that was touched last is dispatched first.
    let mut stalled = parts.channels.get(channel).stalled.clone();
    stalled.sort_unstable_by_key(|consumer| parts.consumers.get(*consumer).waits_since);
    let touched_before = parts.touched.len();
    stalled.into_iter().for_each(|consumer| revive(parts, consumer));
    parts.touched[touched_before..].reverse();
}

pub(super) fn set_prefetch(parts: &mut Parts, channel: ChannelId, count: u16, is_global: bool) {
    let prefetch = if count == 0 { u32::MAX } else { count.into() };
    let limits = parts.channels.get_mut(channel);
    if is_global {
        limits.prefetch = prefetch;
    } else {
        // As in RabbitMQ the limit of the whole channel ends with that of its consumers to come.
        (limits.consumer_prefetch, limits.prefetch) = (prefetch, u32::MAX);
    }
    revive_channel(parts, channel);
}

pub(super) fn set_flow(parts: &mut Parts, channel: ChannelId, is_active: bool) {
    parts.channels.get_mut(channel).is_flowing = is_active;
    if is_active {
        revive_channel(parts, channel);
    }
}

pub(super) fn handle_room(parts: &mut Parts, id: ConnectionId) {
    let connection = parts.channels.connection_mut(id);
    if !std::mem::take(&mut connection.is_full) {
        return;
    }
    let channels = connection.channels.clone();
    channels.into_iter().for_each(|channel| revive_channel(parts, channel));
}

/// A waiting consumer has become the single active one.
pub(super) fn activate(parts: &mut Parts, id: ConsumerId) {
    let consumer = parts.consumers.get_mut(id);
    consumer.standing = Standing::InTurn;
    let (queue, priority) = (consumer.queue, consumer.priority);
    if !parts.queues.get(queue).is_going {
        parts.queues.get_mut(queue).rotation.add(id, priority);
        touch(parts, queue);
    }
}

#[inline]
pub(super) fn note_unacked(parts: &mut Parts, id: QueueId, consumer_id: ConsumerId, tag: u64, entry: Entry) {
    let consumer = parts.consumers.get_mut(consumer_id);
    consumer.unacknowledged += 1;
    parts.channels.get_mut(consumer.channel).delivered += 1;
    let unacked = Unacked::new(tag, id, Some(consumer_id), entry);
    parts.channels.push_unacked(consumer.channel, unacked);
}

/// Counts deliveries as settled. Returns whether their queue still exists.
#[inline]
pub(super) fn settle(parts: &mut Parts, channel: ChannelId, settled: &Settled) -> bool {
    let Settled { queue, consumer, count, body_bytes, is_acked } = *settled;
    if let Some(consumer) = consumer {
        parts.channels.get_mut(channel).delivered -= count;
        // If the channel has a limit, consumers that have waited longer go first: see `end_settling`.
        if parts.consumers.settle(consumer, count) && !parts.channels.get(channel).has_prefetch() {
            revive(parts, consumer);
        }
    }
    parts.queues.settle(queue, count, body_bytes, is_acked)
}

/// Returns true if consumers of the channel may wait because of a limit of the whole channel.
#[inline]
pub(super) fn is_limited(parts: &Parts, channel: ChannelId) -> bool {
    let channel = parts.channels.get(channel);
    channel.has_prefetch() || channel.unacked().count() >= parts.limits.unacknowledged_per_channel_max
}

/// The last tag that a settlement of all deliveries up to `tag` covers.
pub(super) fn last_of(parts: &Parts, channel: ChannelId, tag: u64) -> Result<u64, Refusal> {
    match tag {
        0 => Ok(u64::MAX),
        tag if parts.channels.get(channel).unacked().contains(tag) => Ok(tag),
        tag => Err(unknown_tag(tag)),
    }
}

/// Returns true if the consumer can take one more message.
#[inline]
fn can_take(channels: &Channels, consumer: &Consumer, unacknowledged_max: usize) -> bool {
    let channel = channels.get(consumer.channel);
    // As in RabbitMQ, a consumer without acknowledgements waits for the channel's limit, too. Its deliveries do not count.
    let has_credit = channel.delivered < channel.prefetch
        && (consumer.no_ack
            || (consumer.unacknowledged < consumer.prefetch
                && channel.unacked().count() < unacknowledged_max));
    has_credit && channel.is_flowing && !channels.is_full(channel.connection)
}

#[cold]
pub(super) fn unknown_tag(tag: u64) -> Refusal {
    Refusal::new(ReplyCode::PreconditionFailed, format!("unknown delivery tag {tag}"))
}
