//! Consuming: consumers begin and end, and messages are taken one by one.

use hairstreak_wire::amqp::FieldValue;

use super::deaths::expire_fronts;
use super::dispatch::count_deliveries;
use super::leases::lease;
use super::leave::{delete_queue, remove_consumer};
use crate::message::MessageView;
use crate::queue::{Consumer, ConsumerDeclaration, QueueId, QueueKind, Standing};
use crate::refusal::Refusal;
use crate::vhost::consumers::{add_reply_consumer, check_consumer, check_tag, find_consumer, recipient};
use crate::vhost::credit::touch;
use crate::vhost::outbox::REPLY_TO;
use crate::vhost::parts::{Parts, Turn};
use crate::vhost::unacked::Unacked;
use crate::vhost::{ChannelId, HostOutbox};

/// Consumers whose tags are compared in one step.
const SEARCHED_PER_STEP: usize = 8;

/// The fields of `basic.get-ok` beside the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Got {
    /// The delivery tag.
    pub delivery_tag: u64,
    /// True if the message was delivered before.
    pub is_redelivered: bool,
    /// The number of messages that still wait.
    pub message_count: u32,
}

/// The outcome of taking a message by basic.get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GetOutcome {
    /// A message was taken.
    Taken,
    /// No message waits.
    Empty,
    /// The first message waits for the disk. The caller asks again later (`VirtualHost::await_front`).
    OnDisk,
}

pub(in crate::vhost) fn consume<O: HostOutbox>(
    turn: &mut Turn<'_, O>,
    channel: ChannelId,
    declaration: &ConsumerDeclaration<'_>,
    started: impl FnOnce(&mut O, &[u8]),
) -> Result<(), Refusal> {
    charge_search(turn.parts, channel);
    check_tag(turn.parts, channel, declaration.consumer_tag)?;
    let tag = match declaration.consumer_tag {
        [] => turn.parts.names.next("amq.ctag-"),
        tag => tag.into(),
    };
    if declaration.queue == REPLY_TO {
        add_reply_consumer(turn.parts, channel, declaration, &tag)?;
        started(turn.outbox, &tag);
        return Ok(());
    }
    let queue = check_consumer(turn.parts, channel, declaration)?;
    started(turn.outbox, &tag);
    add_consumer(turn, channel, queue, declaration, tag);
    Ok(())
}

fn add_consumer<O: HostOutbox>(
    turn: &mut Turn<'_, O>,
    channel: ChannelId,
    queue_id: QueueId,
    declaration: &ConsumerDeclaration<'_>,
    tag: Box<[u8]>,
) {
    let prefetch = turn.parts.channels.get(channel).consumer_prefetch;
    let is_exclusive = turn.parts.queues.get(queue_id).is_exclusive_for(declaration);
    let priority = declaration.arguments.get("x-priority").and_then(FieldValue::as_i64).unwrap_or(0);
    let id = turn.parts.consumers.add(Consumer {
        recipient: recipient(turn.parts, channel, tag),
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
    turn.parts.channels.get_mut(channel).consumers.push(id);
    turn.parts.note_use(queue_id, turn.now);
    let queue = turn.parts.queues.get_mut(queue_id);
    if queue.add_consumer(id) {
        queue.rotation.add(id, priority);
        turn.parts.consumers.get_mut(id).standing = Standing::InTurn;
        touch(turn.parts, queue_id);
    }
}

pub(in crate::vhost) fn cancel<O: HostOutbox>(turn: &mut Turn<'_, O>, channel: ChannelId, tag: &[u8]) {
    charge_search(turn.parts, channel);
    let Some(id) = find_consumer(turn.parts, channel, tag) else { return };
    let replies = &mut turn.parts.channels.get_mut(channel).reply_consumer;
    if let Some(reply) = replies.take_if(|reply| reply.consumer == id) {
        turn.parts.replies.remove(&reply.address);
        turn.parts.consumers.cancel(id);
        return;
    }
    if let Some(unused) = remove_consumer(turn, id) {
        let owner = turn.parts.channels.get(channel).connection;
        delete_queue(turn, unused, Some(owner));
    }
}

pub(in crate::vhost) fn get<O: HostOutbox>(
    turn: &mut Turn<'_, O>,
    channel: ChannelId,
    queue: &[u8],
    no_ack: bool,
    take: impl FnOnce(&mut O, Got, &MessageView<'_>),
) -> Result<GetOutcome, Refusal> {
    let connection = turn.parts.channels.get(channel).connection;
    let id = turn.parts.find_queue(connection, queue)?;
    turn.parts.check_get(id)?;
    turn.parts.note_use(id, turn.now);
    // The first message that has not expired is the answer, behind any number of expired ones.
    turn.budget = usize::MAX;
    expire_fronts(turn, id);
    while turn.parts.queues.get(id).ready.is_front_on_disk() {
        if turn.parts.want_front(id) {
            return Ok(GetOutcome::OnDisk);
        }
        expire_fronts(turn, id);
    }
    if !has_lease(turn, id) {
        return Ok(GetOutcome::OnDisk);
    }
    if take_front(turn, channel, id, no_ack, take) {
        return Ok(GetOutcome::Taken);
    }
    turn.parts.queues.get_mut(id).counts.counted.get_empty += 1;
    turn.parts.channels.get_mut(channel).counted.messages.get_empty += 1;
    Ok(GetOutcome::Empty)
}

/// Returns false if the lease of the first message is on its way.
fn has_lease<O: HostOutbox>(turn: &mut Turn<'_, O>, id: QueueId) -> bool {
    let queue = turn.parts.queues.get(id);
    let Some(front) = queue.ready.front() else { return true };
    let message = (front.sequence, queue.has_logged(front));
    lease(turn.parts, id, message, turn.now)
}

fn take_front<O: HostOutbox>(
    turn: &mut Turn<'_, O>,
    channel: ChannelId,
    id: QueueId,
    no_ack: bool,
    take: impl FnOnce(&mut O, Got, &MessageView<'_>),
) -> bool {
    let Some(front) = turn.parts.queues.get(id).ready.front().copied() else { return false };
    let body_size = turn.parts.remove_front(id, &front);
    // The count of messages leaves out expired messages.
    expire_fronts(turn, id);
    let queue = turn.parts.queues.get_mut(id);
    if !no_ack {
        queue.note_unacknowledged(body_size);
    }
    queue.counts.counted.note_get(no_ack, front.is_redelivered());
    let counted = &mut turn.parts.channels.get_mut(channel).counted.messages;
    counted.note_get(no_ack, front.is_redelivered());
    let got = Got {
        delivery_tag: turn.parts.channels.get_mut(channel).take_tag(),
        is_redelivered: front.is_redelivered(),
        message_count: queue.message_count(),
    };
    let mut properties = Vec::new();
    let mut view = turn.parts.store.view(front.message);
    // A consumer sees the count of a message that came back, and basic.get each count, as in RabbitMQ.
    if queue.kind == QueueKind::Quorum {
        count_deliveries(&mut view, front.return_count, &mut properties);
    }
    take(turn.outbox, got, &view);
    if no_ack {
        turn.parts.note_gone(id, &front);
        turn.parts.store.release(front.message);
    } else {
        turn.parts.channels.push_unacked(channel, Unacked::new(got.delivery_tag, id, None, front));
    }
    true
}

/// A consumer of the channel is searched by its tag.
fn charge_search(parts: &mut Parts, channel: ChannelId) {
    let count = parts.channels.get(channel).consumers.len();
    parts.steps.charge(1 + count / SEARCHED_PER_STEP);
}
