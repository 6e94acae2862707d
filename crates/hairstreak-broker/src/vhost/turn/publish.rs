//! Publishing: a message takes its route into queues and to reply consumers.

use hairstreak_wire::amqp::Properties;

use super::context::Turn;
use super::dispatch::{end_publish, hand_over, store_once};
use crate::exchange::ExchangeId;
use crate::message::{BodyView, Message, MessageId};
use crate::queue::{Entry, Overflow, QueueId, Reason, is_cycle};
use crate::vhost::chores::Chore;
use crate::vhost::parts::Parts;
use crate::vhost::publishing::{OwnedMessage, Publishing};
use crate::vhost::route::Unrouted;
use crate::vhost::{ChannelsMut, HostOutbox, Outcome, PublishRun, Published, PublishedBy, Route};

impl<O: HostOutbox> Turn<'_, O> {
    /// Publishes a message along a route that holds.
    #[inline]
    pub(in crate::vhost) fn publish(&mut self, route: &Route, message: &Message<'_>) -> Published {
        for address in &route.replies {
            self.deliver_reply(address, message);
        }
        if self.parts.store.count() >= self.parts.limits.messages_max {
            return Published::Refused;
        }
        self.parts.steps.charge(route.targets.len());
        let mut stored = None;
        let mut published = if route.targets.is_empty() { Published::Unroutable } else { Published::Routed };
        for target in &route.targets {
            if !self.enqueue(*target, message, &mut stored) {
                published = Published::Refused;
            }
        }
        end_publish(&mut self.parts.store, stored);
        self.finish();
        published
    }

    /// Publishes a message along a long route. The outcome is the connection's once the message is in all its queues.
    pub(in crate::vhost) fn publish_slowly(
        &mut self,
        by: PublishedBy,
        route: &mut Route,
        message: &Message<'_>,
    ) {
        for address in &route.replies {
            self.deliver_reply(address, message);
        }
        let mut publishing = publishing(self, Some(by), &route.targets, route.unrouted.take(), message);
        publishing.exchange = route.exchange;
        if self.parts.store.count() >= self.parts.limits.messages_max {
            publishing.published = Published::Refused;
            publishing.served_count = publishing.targets.len();
            publishing.unrouted = None;
        }
        let owner = self.parts.channels.get(by.channel).connection;
        self.start(Some(owner), Chore::Publish(publishing));
        self.finish();
    }

    #[cold]
    fn deliver_reply(&mut self, address: &[u8], message: &Message<'_>) {
        let parts = &mut *self.parts;
        if let Some(consumer) = parts.replies.get(address).copied() {
            let view = message.view();
            hand_over(&parts.consumers, &mut parts.channels, self.outbox, consumer, false, &view);
            let channel = parts.consumers.get(consumer).channel;
            parts.channels.get_mut(channel).note_reply();
        }
    }

    /// Puts a message into a queue, or gives it to one of the queue's consumers. Returns whether the queue takes it.
    /// `stored` is the message's number once it is stored.
    #[inline]
    pub(super) fn enqueue(
        &mut self,
        id: QueueId,
        message: &Message<'_>,
        stored: &mut Option<MessageId>,
    ) -> bool {
        let queue = self.parts.queues.get_mut(id);
        if queue.is_limited && queue.refuses(message.body.as_bytes().len()) {
            refuse(self.parts, id, message, stored);
            return false;
        }
        queue.ready.note_arrival();
        if queue.ready.is_empty()
            && !queue.rotation.is_empty()
            && let Some(consumer) = self.parts.next_consumer(id)
        {
            self.deliver_direct(id, consumer, message, stored);
        } else {
            self.keep(id, message, stored);
        }
        true
    }

    /// Appends the message that has arrived to those that wait.
    #[inline]
    fn keep(&mut self, id: QueueId, message: &Message<'_>, stored: &mut Option<MessageId>) {
        let parts = &mut *self.parts;
        let queue = parts.queues.get_mut(id);
        if queue.ready.is_empty() {
            queue.capacity.block(self.now);
        }
        let entry = Entry {
            sequence: queue.ready.last_sequence(),
            expires_at: queue.expiry_of(message.attributes.expiration_ms, self.now),
            message: store_once(&mut parts.store, message, stored),
            return_count: 0,
            priority: queue.ready.list_of(message.attributes.priority),
        };
        let before = queue.ready.memory_bytes();
        queue.ready.push(entry, message.body.as_bytes().len() as u32);
        let (after, is_limited) = (queue.ready.memory_bytes(), queue.is_limited);
        let may_expire = queue.ready.may_expire();
        if before != after {
            parts.queues.note_memory(before, after);
        }
        if is_limited || may_expire {
            self.shorten(id);
            self.expire_fronts(id);
        }
    }
}

/// Passes over the queues that a dead letter would go round to without anybody's doing.
fn pass_over_cycles(parts: &Parts, publishing: &mut Publishing) {
    let Some(reason) = publishing.reason else { return };
    let message = publishing.message.message();
    let Ok(properties) = Properties::decode(message.properties) else { return };
    let Some(headers) = properties.headers.filter(|_| reason != Reason::Rejected) else { return };
    publishing.targets.retain(|(id, serial)| {
        parts.queues.is_there(*id, *serial) && !is_cycle(&headers, &parts.queues.get(*id).declaration.name)
    });
}

/// A message is in all its queues: it counts, and its publisher has the outcome, if its channel is there.
fn end_publishing(parts: &mut Parts, by: PublishedBy, publishing: &mut Publishing) {
    let queue_count = publishing.targets.len();
    let run = PublishRun::one(publishing.published, by.is_mandatory);
    if parts.channels.find(by.channel).is_none() {
        return;
    }
    ChannelsMut { parts }.note(by.channel, (publishing.exchange, queue_count), queue_count, run);
    let nothing = Message { exchange: &[], routing_key: &[], ..publishing.message.message() };
    let nothing = OwnedMessage::of(&Message { properties: &[], body: BodyView::Copied(&[]), ..nothing });
    let message = std::mem::replace(&mut publishing.message, nothing);
    let published = publishing.published;
    let outcome = Outcome { is_mandatory: by.is_mandatory, published, message };
    parts.channels.get_mut(by.channel).outcome = Some(Box::new(outcome));
}

/// The queue has no room for a message.
#[cold]
fn refuse(parts: &mut Parts, id: QueueId, message: &Message<'_>, stored: &mut Option<MessageId>) {
    parts.queues.get_mut(id).counts.refused += 1;
    if parts.queues.get(id).settings.overflow == Overflow::RejectPublishDeadLetter {
        let message = store_once(&mut parts.store, message, stored);
        parts.bury(id, message, Reason::MaxLength);
    }
}

/// A message that begins its way to these queues, and to those at the end of the rest of its route.
pub(super) fn publishing<O: HostOutbox>(
    turn: &Turn<'_, O>,
    by: Option<PublishedBy>,
    targets: &[QueueId],
    unrouted: Option<Box<Unrouted>>,
    message: &Message<'_>,
) -> Box<Publishing> {
    let queues = &turn.parts.queues;
    Box::new(Publishing {
        by,
        exchange: ExchangeId::default(),
        message: OwnedMessage::of(message),
        unrouted,
        targets: targets.iter().map(|id| (*id, queues.get(*id).serial)).collect(),
        served_count: 0,
        stored: None,
        published: Published::Unroutable,
        reason: None,
    })
}

/// Goes on with a message. Returns whether all its queues have it.
pub(super) fn go_on_publishing<O: HostOutbox>(turn: &mut Turn<'_, O>, publishing: &mut Publishing) -> bool {
    if !go_on_routing(turn, publishing) {
        return false;
    }
    let message = publishing.message.message();
    while let Some((id, serial)) = publishing.targets.get(publishing.served_count).copied() {
        if turn.parts.steps.are_spent() {
            return false;
        }
        turn.parts.steps.charge(1);
        publishing.served_count += 1;
        if !turn.parts.queues.is_there(id, serial) {
            continue;
        }
        if publishing.by.is_none() {
            turn.parts.queues.get_mut(id).counts.letters += 1;
        }
        let is_taken = turn.enqueue(id, &message, &mut publishing.stored);
        publishing.published = match publishing.published {
            Published::Unroutable if is_taken => Published::Routed,
            published if is_taken => published,
            _ => Published::Refused,
        };
    }
    end_publish(&mut turn.parts.store, publishing.stored.take());
    if let Some(by) = publishing.by.take() {
        end_publishing(turn.parts, by, publishing);
    }
    true
}

/// Finds further queues of a message. Returns whether all are found.
fn go_on_routing<O: HostOutbox>(turn: &mut Turn<'_, O>, publishing: &mut Publishing) -> bool {
    let Some(unrouted) = &mut publishing.unrouted else { return true };
    let Parts { exchanges, queues, steps, .. } = &mut *turn.parts;
    let load = |queue| queues.get(queue).load();
    let mut found = Vec::new();
    let table = &mut exchanges.table;
    let rest = unrouted.with(|walk, routing| walk.go_on(table, routing, &load, steps, &mut found));
    let is_whole = rest.is_some();
    publishing.targets.extend(found.iter().map(|id| (*id, queues.get(*id).serial)));
    if is_whole {
        publishing.unrouted = None;
        if publishing.by.is_none() {
            pass_over_cycles(turn.parts, publishing);
        }
    }
    is_whole
}
