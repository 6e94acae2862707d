//! Credit: which consumers can take messages. A delivery takes credit, and its settlement gives credit back.

use hairstreak_wire::amqp::ReplyCode;

use super::channels::Channels;
use super::outbox::{ChannelId, ConsumerId};
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

impl Parts {
    /// Notes that the messages or consumers of a queue changed, so that the queue may have something to deliver.
    pub(super) fn touch(&mut self, id: QueueId) {
        let queue = self.queues.get_mut(id);
        if !queue.is_touched {
            queue.is_touched = true;
            self.touched.push(id);
        }
    }

    /// The consumer whose turn it is. Consumers without credit leave the rotation until they have credit again.
    #[inline]
    pub(super) fn next_consumer(&mut self, id: QueueId) -> Option<ConsumerId> {
        loop {
            let rotation = &mut self.queues.get_mut(id).rotation;
            let first = rotation.first()?;
            let consumer = self.consumers.get(first);
            if can_take(&self.channels, consumer, self.limits.unacknowledged_per_channel_max) {
                rotation.turn();
                self.consumers.get_mut(first).waits_since = 0;
                return Some(first);
            }
            rotation.remove_first();
            self.stall(first);
        }
    }

    pub(super) fn stall(&mut self, id: ConsumerId) {
        let consumer = self.consumers.get_mut(id);
        let channel = self.channels.get_mut(consumer.channel);
        channel.stall_count += 1;
        // A consumer that has taken nothing since it last stalled has waited since then.
        if consumer.waits_since == 0 {
            consumer.waits_since = channel.stall_count;
        }
        consumer.standing = Standing::Stalled(channel.stalled.len() as u32);
        channel.stalled.push(id);
    }

    /// Takes a consumer out of its channel's list of stalled consumers.
    pub(super) fn unstall(&mut self, id: ConsumerId) {
        let consumer = self.consumers.get_mut(id);
        let Standing::Stalled(place) = consumer.standing else { return };
        consumer.standing = Standing::InTurn;
        let stalled = &mut self.channels.get_mut(consumer.channel).stalled;
        stalled.swap_remove(place as usize);
        if let Some(moved) = stalled.get(place as usize) {
            self.consumers.get_mut(*moved).standing = Standing::Stalled(place);
        }
    }

    /// A stalled consumer may have credit again.
    pub(super) fn revive(&mut self, id: ConsumerId) {
        let consumer = self.consumers.get(id);
        if can_take(&self.channels, consumer, self.limits.unacknowledged_per_channel_max) {
            let (queue, priority) = (consumer.queue, consumer.priority);
            self.unstall(id);
            if self.queues.get(queue).is_going {
                return;
            }
            self.queues.get_mut(queue).rotation.add(id, priority);
            self.touch(queue);
        }
    }

    /// All stalled consumers of a channel may have credit again.
    pub(super) fn revive_channel(&mut self, channel: ChannelId) {
        // Consumers that have waited longest go first, in each queue and among the queues. The queue that was touched last is dispatched first.
        let mut stalled = self.channels.get(channel).stalled.clone();
        stalled.sort_unstable_by_key(|consumer| self.consumers.get(*consumer).waits_since);
        let touched_before = self.touched.len();
        stalled.into_iter().for_each(|consumer| self.revive(consumer));
        self.touched[touched_before..].reverse();
    }

    /// A waiting consumer has become the single active one.
    pub(super) fn activate(&mut self, id: ConsumerId) {
        let consumer = self.consumers.get_mut(id);
        consumer.standing = Standing::InTurn;
        let (queue, priority) = (consumer.queue, consumer.priority);
        if !self.queues.get(queue).is_going {
            self.queues.get_mut(queue).rotation.add(id, priority);
            self.touch(queue);
        }
    }

    #[inline]
    pub(super) fn note_unacked(&mut self, id: QueueId, consumer_id: ConsumerId, tag: u64, entry: Entry) {
        let consumer = self.consumers.get_mut(consumer_id);
        consumer.unacknowledged += 1;
        self.channels.get_mut(consumer.channel).delivered += 1;
        let unacked = Unacked::new(tag, id, Some(consumer_id), entry);
        self.channels.push_unacked(consumer.channel, unacked);
    }

    /// Counts deliveries as settled. Returns whether their queue still exists.
    #[inline]
    pub(super) fn settle(&mut self, channel: ChannelId, settled: &Settled) -> bool {
        let Settled { queue, consumer, count, body_bytes, is_acked } = *settled;
        if let Some(consumer) = consumer {
            self.channels.get_mut(channel).delivered -= count;
            // If the channel has a limit, consumers that have waited longer go first: see `end_settling`.
            if self.consumers.settle(consumer, count) && !self.channels.get(channel).has_prefetch() {
                self.revive(consumer);
            }
        }
        self.queues.settle(queue, count, body_bytes, is_acked)
    }

    /// Whether consumers of the channel may wait because of a limit of the whole channel.
    #[inline]
    pub(super) fn is_limited(&self, channel: ChannelId) -> bool {
        let channel = self.channels.get(channel);
        channel.has_prefetch() || channel.unacked().count() >= self.limits.unacknowledged_per_channel_max
    }

    /// The last tag that a settlement of all deliveries up to `tag` covers.
    pub(super) fn last_of(&self, channel: ChannelId, tag: u64) -> Result<u64, Refusal> {
        match tag {
            0 => Ok(u64::MAX),
            tag if self.channels.get(channel).unacked().contains(tag) => Ok(tag),
            tag => Err(unknown_tag(tag)),
        }
    }
}

/// Whether a consumer can take one more message.
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
