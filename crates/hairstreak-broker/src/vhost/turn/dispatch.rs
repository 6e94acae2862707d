//! Dispatching: messages that wait go to consumers with credit.

use hairstreak_wire::amqp::Properties;

use super::deaths::{expire_fronts, shorten};
use super::leases::may_deliver;
use super::paging::follow_backlog;
use crate::message::{Message, MessageId, MessageView, Store};
use crate::queue::{Consumers, Durability, Entry, Marks, NEVER, QueueId, QueueKind, add_delivery_count};
use crate::vhost::channels::Channels;
use crate::vhost::credit::{next_consumer, note_unacked, touch};
use crate::vhost::parts::{Parts, Turn};
use crate::vhost::{ConsumerId, HostOutbox, LogRun, LogTarget, Room};

#[inline(never)]
pub(super) fn dispatch_touched<O: HostOutbox>(turn: &mut Turn<'_, O>) {
    while !turn.parts.steps.are_spent()
        && let Some(id) = turn.parts.touched.pop()
    {
        turn.parts.queues.get_mut(id).is_touched = false;
        shorten(turn, id);
        dispatch(turn, id);
    }
}

/// Delivers messages that wait while there are consumers with credit.
pub(super) fn dispatch<O: HostOutbox>(turn: &mut Turn<'_, O>, id: QueueId) {
    let queue = turn.parts.queues.get_mut(id);
    if !queue.rotation.is_empty() {
        queue.capacity.unblock(turn.now);
    }
    while let Some(front) = turn.parts.queues.get(id).ready.front().copied() {
        if front.expires_at <= turn.now {
            if !expire_fronts(turn, id) {
                return;
            }
            continue;
        }
        if !may_deliver(turn.parts, id, &front, turn.now) {
            break;
        }
        if turn.parts.steps.are_spent() {
            // Consumers that can take messages get them in the next call.
            touch(turn.parts, id);
            return;
        }
        let Some(consumer) = next_consumer(turn.parts, id) else { break };
        turn.parts.steps.charge(1);
        deliver_front(turn, id, consumer, &front);
    }
    let queue = turn.parts.queues.get_mut(id);
    if !queue.ready.is_empty() {
        queue.capacity.block(turn.now);
        if turn.parts.appends.is_on() {
            follow_backlog(turn, id);
        }
    }
    let next_expiry = turn.parts.queues.get(id).ready.next_expiry();
    turn.parts.timers.set_message_expiry(id, next_expiry);
}

/// Delivers the first waiting message.
#[inline]
fn deliver_front<O: HostOutbox>(turn: &mut Turn<'_, O>, id: QueueId, consumer_id: ConsumerId, front: &Entry) {
    let body_size = turn.parts.remove_front(id, front);
    let parts = &mut *turn.parts;
    let queue = parts.queues.get_mut(id);
    let no_ack = parts.consumers.get(consumer_id).no_ack;
    if !no_ack {
        queue.note_unacknowledged(body_size);
    }
    let mut properties = Vec::new();
    let mut view = parts.store.view(front.message);
    if queue.kind == QueueKind::Quorum && front.return_count > 0 {
        count_deliveries(&mut view, front.return_count, &mut properties);
    }
    let tag = hand_over(
        &parts.consumers,
        &mut parts.channels,
        turn.outbox,
        consumer_id,
        front.is_redelivered(),
        &view,
    );
    if no_ack {
        parts.note_gone(id, front);
        parts.store.release(front.message);
    } else {
        note_unacked(turn.parts, id, consumer_id, tag, *front);
    }
    if front.is_redelivered() {
        note_redelivery(turn.parts, id, consumer_id);
    }
}

/// Delivers a message that arrives to a consumer with credit, from where the message lies. The queue has no message.
#[inline]
pub(super) fn deliver_direct<O: HostOutbox>(
    turn: &mut Turn<'_, O>,
    id: QueueId,
    consumer_id: ConsumerId,
    message: &Message<'_>,
    stored: &mut Option<MessageId>,
) {
    let parts = &mut *turn.parts;
    let tag =
        hand_over(&parts.consumers, &mut parts.channels, turn.outbox, consumer_id, false, &message.view());
    if !parts.consumers.get(consumer_id).no_ack {
        let is_logged = note_logged(parts, id, message, turn.now);
        let queue = parts.queues.get_mut(id);
        queue.note_unacknowledged(message.body.as_bytes().len() as u32);
        let entry = Entry {
            sequence: queue.ready.last_sequence(),
            expires_at: queue.expiry_of(message.attributes.expiration_ms, turn.now),
            message: store_once(&mut parts.store, message, stored),
            return_count: 0,
            priority: queue.ready.list_of(message.attributes.priority),
            marks: Marks::new(is_logged, false),
        };
        note_unacked(turn.parts, id, consumer_id, tag, entry);
    }
}

/// A consumer got a message that was delivered before.
#[cold]
fn note_redelivery(parts: &mut Parts, id: QueueId, consumer: ConsumerId) {
    parts.queues.get_mut(id).counts.counted.redeliver += 1;
    let channel = parts.consumers.get(consumer).channel;
    parts.channels.get_mut(channel).counted.messages.redeliver += 1;
}

/// Gives a message to a consumer, and returns the delivery tag.
#[inline]
pub(super) fn hand_over(
    consumers: &Consumers,
    channels: &mut Channels,
    outbox: &mut impl HostOutbox,
    consumer: ConsumerId,
    is_redelivered: bool,
    view: &MessageView<'_>,
) -> u64 {
    let consumer = consumers.get(consumer);
    let tag = channels.get_mut(consumer.channel).take_tag();
    if outbox.deliver(&consumer.recipient, tag, is_redelivered, view) == Room::Full {
        channels.connection_mut(consumer.recipient.connection).is_full = true;
    }
    tag
}

/// Stores a message at its first use, and counts each further one. The publisher holds a reference of its own until
/// [`end_publish`]: a queue may drop the message before the next queue gets it.
#[inline]
pub(super) fn store_once(
    store: &mut Store,
    message: &Message<'_>,
    stored: &mut Option<MessageId>,
) -> MessageId {
    match *stored {
        Some(id) => {
            store.retain(id);
            id
        }
        None => {
            let id = *stored.insert(store.add(message));
            store.retain(id);
            id
        }
    }
}

/// Notes the place of the last message that arrived in a queue, if the message log gets the message. Returns whether it does.
#[inline]
pub(super) fn note_logged(parts: &mut Parts, id: QueueId, message: &Message<'_>, now: u64) -> bool {
    parts.appends.is_on() && note_target(parts, id, message, now)
}

/// The part of [`note_logged`] for hosts with a log. A call keeps it out of the code of hosts without one.
#[inline(never)]
fn note_target(parts: &mut Parts, id: QueueId, message: &Message<'_>, now: u64) -> bool {
    let queue = parts.queues.get(id);
    let durability = queue.durability_of(message.attributes.is_persistent);
    if durability == Durability::Memory {
        return false;
    }
    let expires_at = queue.expiry_of(message.attributes.expiration_ms, now);
    let ttl_ms = (expires_at != NEVER).then(|| expires_at.saturating_sub(now));
    let sequence = queue.ready.last_sequence();
    parts.appends.note_target(LogTarget { queue: queue.log_id(), sequence, ttl_ms }, durability);
    true
}

/// Puts a message into the message log if the last call gave it to a logged queue. Returns the durability that its confirm waits
/// for: the strictest of these queues.
#[inline]
pub(super) fn append<O: HostOutbox>(
    turn: &mut Turn<'_, O>,
    message: &Message<'_>,
    moved: Option<LogRun>,
) -> Durability {
    if turn.parts.appends.has_targets() { append_targets(turn, message, moved) } else { Durability::Memory }
}

/// The part of [`append`] for hosts with a log. A call keeps it out of the code of hosts without one.
#[inline(never)]
fn append_targets<O: HostOutbox>(
    turn: &mut Turn<'_, O>,
    message: &Message<'_>,
    moved: Option<LogRun>,
) -> Durability {
    let (targets, durability) = turn.parts.appends.targets();
    turn.outbox.append(message, targets, moved, durability);
    turn.parts.appends.clear_targets();
    durability
}

/// The message is in all its queues.
#[inline]
pub(super) fn end_publish(store: &mut Store, stored: Option<MessageId>) {
    if let Some(id) = stored {
        store.release(id);
    }
}

/// Shows a message with the number of its returns.
#[cold]
pub(super) fn count_deliveries<'a>(view: &mut MessageView<'a>, count: u16, buffer: &'a mut Vec<u8>) {
    if let Ok(mut properties) = Properties::decode(view.properties) {
        add_delivery_count(&mut properties, count);
        properties.encode(buffer);
        view.properties = buffer;
    }
}
