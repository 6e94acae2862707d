//! Settling: deliveries are acknowledged, rejected, or come back.

use hairstreak_wire::amqp::ReplyCode;

use super::context::Turn;
use crate::message::MessageId;
use crate::queue::{QueueId, Reason};
use crate::refusal::Refusal;
use crate::vhost::credit::{Settled, unknown_tag};
use crate::vhost::parts::Parts;
use crate::vhost::unacked::Unacked;
use crate::vhost::{ChannelId, ConsumerId, HostOutbox};

/// How deliveries are settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// The consumer has dealt with them.
    Ack,
    /// The consumer has not: they return to their places, or are dead-lettered.
    Reject {
        /// They return.
        requeue: bool,
    },
}

/// Deliveries of one queue to one consumer are acknowledged.
#[inline]
fn complete(
    parts: &mut Parts,
    channel: ChannelId,
    (queue, consumer): (QueueId, Option<ConsumerId>),
    messages: &[MessageId],
) {
    let mut body_bytes = 0;
    for message in messages {
        body_bytes += u64::from(parts.store.body_size(*message));
        parts.store.release(*message);
    }
    let count = messages.len() as u32;
    parts.settle(channel, &Settled { queue, consumer, count, body_bytes, is_acked: true });
    parts.channels.get_mut(channel).counted.messages.ack += messages.len() as u64;
}

/// A delivery is acknowledged.
#[inline]
fn complete_one(parts: &mut Parts, channel: ChannelId, unacked: &Unacked) {
    complete(parts, channel, (unacked.queue, unacked.consumer()), &[unacked.entry.message]);
}

/// Rejected deliveries die.
fn discard(parts: &mut Parts, channel: ChannelId, rejected: &[Unacked]) {
    parts.channels.get_mut(channel).returned_count += rejected.len() as u64;
    for unacked in rejected {
        let body_size = parts.store.body_size(unacked.entry.message);
        if parts.settle(channel, &Settled::returned(unacked, body_size)) {
            parts.queues.get_mut(unacked.queue).counts.gone += 1;
            parts.bury(unacked.queue, unacked.entry.message, Reason::Rejected);
        } else {
            parts.store.release(unacked.entry.message);
        }
    }
}

impl<O: HostOutbox> Turn<'_, O> {
    pub(in crate::vhost) fn ack(
        &mut self,
        channel: ChannelId,
        tag: u64,
        multiple: bool,
    ) -> Result<(), Refusal> {
        let was_limited = self.parts.is_limited(channel);
        if multiple {
            let last = self.parts.last_of(channel, tag)?;
            let mut messages = Vec::new();
            while let Some(run) = self.parts.channels.take_first_run(channel, last, &mut messages) {
                complete(self.parts, channel, run, &messages);
            }
        } else {
            let unacked = self.parts.channels.take_unacked(channel, tag).ok_or_else(|| unknown_tag(tag))?;
            complete_one(self.parts, channel, &unacked);
        }
        self.end_settling(channel, was_limited);
        Ok(())
    }

    pub(in crate::vhost) fn reject(
        &mut self,
        channel: ChannelId,
        tag: u64,
        multiple: bool,
        requeue: bool,
    ) -> Result<(), Refusal> {
        let was_limited = self.parts.is_limited(channel);
        let mut rejected = Vec::new();
        if multiple {
            let last = self.parts.last_of(channel, tag)?;
            while let Some(unacked) = self.parts.channels.take_first_unacked(channel, last) {
                rejected.push(unacked);
            }
        } else {
            rejected.push(self.parts.channels.take_unacked(channel, tag).ok_or_else(|| unknown_tag(tag))?);
        }
        if requeue {
            self.requeue(channel, &rejected);
        } else {
            discard(self.parts, channel, &rejected);
        }
        self.end_settling(channel, was_limited);
        Ok(())
    }

    /// Settles the first `count` of the deliveries that a transaction holds.
    pub(in crate::vhost) fn settle_held(&mut self, channel: ChannelId, count: usize, settlement: Settlement) {
        let was_limited = self.parts.is_limited(channel);
        let held = self.parts.channels.take_held(channel, count);
        match settlement {
            Settlement::Ack => held.iter().for_each(|unacked| complete_one(self.parts, channel, unacked)),
            Settlement::Reject { requeue: true } => self.requeue(channel, &held),
            Settlement::Reject { requeue: false } => discard(self.parts, channel, &held),
        }
        self.end_settling(channel, was_limited);
    }

    pub(in crate::vhost) fn recover(&mut self, channel: ChannelId, requeue: bool) -> Result<(), Refusal> {
        if !requeue {
            return Err(Refusal::new(ReplyCode::NotImplemented, "requeue=false"));
        }
        let was_limited = self.parts.is_limited(channel);
        self.requeue_all(channel);
        self.end_settling(channel, was_limited);
        Ok(())
    }

    /// All deliveries of a channel return to their places.
    pub(super) fn requeue_all(&mut self, channel: ChannelId) {
        let mut returned = Vec::new();
        while let Some(unacked) = self.parts.channels.take_first_unacked(channel, u64::MAX) {
            returned.push(unacked);
        }
        self.requeue(channel, &returned);
    }

    /// Deliveries return to their places, the last one first: each is then the first of its queue, which costs least.
    fn requeue(&mut self, channel: ChannelId, returned: &[Unacked]) {
        self.parts.channels.get_mut(channel).returned_count += returned.len() as u64;
        let mut dead = Vec::new();
        for unacked in returned.iter().rev() {
            let (id, mut entry) = (unacked.queue, unacked.entry);
            let body_size = self.parts.store.body_size(entry.message);
            if !self.parts.settle(channel, &Settled::returned(unacked, body_size)) {
                self.parts.store.release(entry.message);
                continue;
            }
            entry.return_count = entry.return_count.saturating_add(1);
            let queue = self.parts.queues.get_mut(id);
            if queue.is_over_delivery_limit(entry.return_count) {
                queue.counts.gone += 1;
                dead.push((id, entry));
                continue;
            }
            let before = queue.ready.memory_bytes();
            queue.ready.insert(entry, body_size);
            let after = queue.ready.memory_bytes();
            self.parts.queues.note_memory(before, after);
            self.parts.touch(id);
        }
        for (id, entry) in dead.into_iter().rev() {
            self.parts.bury(id, entry.message, Reason::DeliveryLimit);
        }
    }

    #[inline]
    fn end_settling(&mut self, channel: ChannelId, was_limited: bool) {
        if was_limited {
            self.parts.revive_channel(channel);
        }
        self.finish();
    }
}
