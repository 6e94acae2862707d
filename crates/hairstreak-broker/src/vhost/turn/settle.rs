//! Settling: deliveries are acknowledged, rejected, or come back.

use hairstreak_wire::amqp::ReplyCode;

use super::deaths::bury;
use crate::message::MessageId;
use crate::queue::{QueueId, Reason};
use crate::refusal::Refusal;
use crate::steps::Steps;
use crate::vhost::chores::Chore;
use crate::vhost::credit::{Settled, is_limited, last_of, revive_channel, settle, touch, unknown_tag};
use crate::vhost::parts::Parts;
use crate::vhost::unacked::{Settlement, Unacked};
use crate::vhost::{ChannelId, ConsumerId, LogChange};

/// Maximum number of deliveries that are returned at once: the last one first.
const GIVEN_BACK_COUNT: usize = 1_024;
/// The steps of a delivery that is given back.
const GIVE_BACK_STEPS: usize = 4;

/// Returns the number of deliveries that are returned at once, as far as there are steps.
fn given_back_count(steps: &Steps) -> usize {
    GIVEN_BACK_COUNT.min(steps.left() / GIVE_BACK_STEPS + 1)
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
    settle(parts, channel, &Settled { queue, consumer, count, body_bytes, is_acked: true });
    parts.channels.get_mut(channel).counted.messages.ack += messages.len() as u64;
}

/// A delivery is acknowledged.
#[inline]
fn complete_one(parts: &mut Parts, channel: ChannelId, unacked: &Unacked) {
    parts.note_gone(unacked.queue, &unacked.entry);
    complete(parts, channel, (unacked.queue, unacked.consumer()), &[unacked.entry.message]);
}

/// Rejected deliveries die.
fn discard(parts: &mut Parts, channel: ChannelId, rejected: &[Unacked]) {
    parts.channels.get_mut(channel).returned_count += rejected.len() as u64;
    for unacked in rejected {
        let body_size = parts.store.body_size(unacked.entry.message);
        if settle(parts, channel, &Settled::returned(unacked, body_size)) {
            parts.queues.get_mut(unacked.queue).counts.gone += 1;
            bury(parts, unacked.queue, &unacked.entry, Reason::Rejected);
        } else {
            parts.store.release(unacked.entry.message);
        }
    }
}

#[inline]
pub(in crate::vhost) fn ack(
    parts: &mut Parts,
    channel: ChannelId,
    tag: u64,
    multiple: bool,
) -> Result<(), Refusal> {
    if multiple {
        return settle_all(parts, channel, tag, Settlement::Ack);
    }
    let was_limited = is_limited(parts, channel);
    let unacked = parts.channels.take_unacked(channel, tag).ok_or_else(|| unknown_tag(tag))?;
    complete_one(parts, channel, &unacked);
    end_settling(parts, channel, was_limited);
    Ok(())
}

pub(in crate::vhost) fn reject(
    parts: &mut Parts,
    channel: ChannelId,
    tag: u64,
    multiple: bool,
    requeue: bool,
) -> Result<(), Refusal> {
    if multiple {
        return settle_all(parts, channel, tag, Settlement::Reject { requeue });
    }
    let was_limited = is_limited(parts, channel);
    let rejected = [parts.channels.take_unacked(channel, tag).ok_or_else(|| unknown_tag(tag))?];
    give_back(parts, channel, &rejected, requeue);
    end_settling(parts, channel, was_limited);
    Ok(())
}

/// Settles the first `count` of the deliveries that a transaction holds.
pub(in crate::vhost) fn settle_held(
    parts: &mut Parts,
    channel: ChannelId,
    mut count: usize,
    settlement: Settlement,
) {
    let owner = parts.channels.get(channel).connection;
    if !settle_some_held(parts, channel, &mut count, settlement) {
        parts.put_off(Some(owner), Chore::SettleHeld { channel, count, settlement });
    }
}

pub(in crate::vhost) fn recover(parts: &mut Parts, channel: ChannelId, requeue: bool) -> Result<(), Refusal> {
    if !requeue {
        return Err(Refusal::new(ReplyCode::NotImplemented, "requeue=false"));
    }
    settle_all(parts, channel, 0, Settlement::Reject { requeue: true })
}

/// Returns deliveries to their places, the last one first: each is then the first of its queue, which is cheapest.
fn requeue_all(parts: &mut Parts, channel: ChannelId, returned: &[Unacked]) {
    parts.channels.get_mut(channel).returned_count += returned.len() as u64;
    let mut dead = Vec::new();
    for unacked in returned.iter().rev() {
        let (id, mut entry) = (unacked.queue, unacked.entry);
        let body_size = parts.store.body_size(entry.message);
        if !settle(parts, channel, &Settled::returned(unacked, body_size)) {
            parts.store.release(entry.message);
            continue;
        }
        entry.return_count = entry.return_count.saturating_add(1);
        let queue = parts.queues.get_mut(id);
        if queue.is_over_delivery_limit(entry.return_count) {
            queue.counts.gone += 1;
            dead.push((id, entry));
            continue;
        }
        if queue.has_logged(&entry) {
            let (queue, sequence, count) = (queue.log_id(), entry.sequence, entry.return_count);
            parts.appends.push(LogChange::Returned { queue, sequence, count });
        }
        let before = queue.ready.memory_bytes();
        queue.ready.insert(entry, body_size);
        let after = queue.ready.memory_bytes();
        parts.queues.note_memory(before, after);
        touch(parts, id);
    }
    for (id, entry) in dead.into_iter().rev() {
        bury(parts, id, &entry, Reason::DeliveryLimit);
    }
}

/// Settles all deliveries up to a tag that the channel has now.
fn settle_all(
    parts: &mut Parts,
    channel: ChannelId,
    tag: u64,
    settlement: Settlement,
) -> Result<(), Refusal> {
    let last = last_of(parts, channel, tag)?;
    let (owner, last_tag) = {
        let channel = parts.channels.get(channel);
        (channel.connection, channel.last_tag())
    };
    let last = last.min(last_tag);
    if !settle_through(parts, channel, last, settlement) {
        parts.put_off(Some(owner), Chore::Settle { channel, last, settlement });
    }
    Ok(())
}

/// Settles deliveries up to a tag. Returns whether none is left.
pub(super) fn settle_through(
    parts: &mut Parts,
    channel: ChannelId,
    last: u64,
    settlement: Settlement,
) -> bool {
    let was_limited = is_limited(parts, channel);
    let is_done = match settlement {
        Settlement::Ack => complete_through(parts, channel, last),
        Settlement::Reject { requeue } => give_back_through(parts, channel, last, requeue),
    };
    end_settling(parts, channel, was_limited);
    is_done
}

fn complete_through(parts: &mut Parts, channel: ChannelId, last: u64) -> bool {
    let mut messages = Vec::new();
    while !parts.steps.are_spent() {
        if parts.appends.is_on() {
            note_first_run(parts, channel, last);
        }
        let Some(run) = parts.channels.take_first_run(channel, last, &mut messages) else {
            return true;
        };
        parts.steps.charge(messages.len());
        complete(parts, channel, run, &messages);
    }
    false
}

/// Notes the deliveries that are acknowledged next. Their messages still have references.
fn note_first_run(parts: &mut Parts, channel: ChannelId, last: u64) {
    let Parts { appends, channels, queues, store, .. } = parts;
    for Unacked { queue, entry, .. } in channels.get(channel).unacked().first_run(last) {
        let queue = queues.get(*queue);
        if queue.has_logged(entry) {
            appends.note_settled(queue.log_id(), entry.sequence, store.body_size(entry.message));
        }
    }
}

fn give_back_through(parts: &mut Parts, channel: ChannelId, last: u64, requeue: bool) -> bool {
    let mut rejected = Vec::new();
    while !parts.steps.are_spent() {
        rejected.clear();
        let count_max = given_back_count(&parts.steps);
        let next = || parts.channels.take_first_unacked(channel, last);
        rejected.extend(std::iter::from_fn(next).take(count_max));
        if rejected.is_empty() {
            return true;
        }
        parts.steps.charge(rejected.len() * GIVE_BACK_STEPS);
        give_back(parts, channel, &rejected, requeue);
    }
    false
}

/// Settles deliveries that a transaction holds. `count`: how many are left. Returns whether none is.
pub(super) fn settle_some_held(
    parts: &mut Parts,
    channel: ChannelId,
    count: &mut usize,
    settlement: Settlement,
) -> bool {
    let was_limited = is_limited(parts, channel);
    while *count > 0 && !parts.steps.are_spent() {
        let held = parts.channels.take_held(channel, (*count).min(given_back_count(&parts.steps)));
        if held.is_empty() {
            *count = 0;
            break;
        }
        *count -= held.len();
        parts.steps.charge(held.len() * GIVE_BACK_STEPS);
        match settlement {
            Settlement::Ack => {
                held.iter().for_each(|unacked| complete_one(parts, channel, unacked));
            }
            Settlement::Reject { requeue } => give_back(parts, channel, &held, requeue),
        }
    }
    end_settling(parts, channel, was_limited);
    *count == 0
}

fn give_back(parts: &mut Parts, channel: ChannelId, rejected: &[Unacked], requeue: bool) {
    if requeue {
        requeue_all(parts, channel, rejected);
    } else {
        discard(parts, channel, rejected);
    }
}

#[inline]
fn end_settling(parts: &mut Parts, channel: ChannelId, was_limited: bool) {
    if was_limited {
        revive_channel(parts, channel);
    }
}
