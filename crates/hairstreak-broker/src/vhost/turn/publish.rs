//! Publishing: a message finds its route, and takes the route into queues and to reply consumers.

use hairstreak_wire::amqp::Properties;

use super::deaths::{bury, expire_fronts, shorten};
use super::dispatch::{append, deliver_direct, end_publish, hand_over, note_logged, store_once};
use super::leases::may_go_direct;
use super::paging::page_out;
use crate::exchange::{Cacheable, ExchangeId, Publisher, Routing, distinct};
use crate::message::{BodyView, Message, MessageId};
use crate::queue::{Durability, Entry, Marks, NEVER, Overflow, QueueId, Reason, is_cycle};
use crate::refusal::Refusal;
use crate::vhost::chores::Chore;
use crate::vhost::credit::next_consumer;
use crate::vhost::outbox::is_address;
use crate::vhost::parts::{Parts, Turn};
use crate::vhost::publishing::{OwnedMessage, PublishRun, Publishing};
use crate::vhost::route::{NO_GENERATION, NamedRoute, Unrouted};
use crate::vhost::{ChannelId, HostOutbox, Outcome, Published, PublishedBy, Route};

/// Finds the queues of messages like this one.
pub(in crate::vhost) fn resolve(
    parts: &mut Parts,
    routing: &Routing<'_>,
    route: &mut Route,
) -> Result<(), Refusal> {
    route.targets.clear();
    route.replies.clear();
    route.unrouted = None;
    let Parts { exchanges, queues, steps, limits, .. } = parts;
    steps.begin(limits.steps_max);
    let extra_keys;
    let mut routing = *routing;
    if !routing.extra_keys.is_empty() {
        extra_keys = distinct(routing.key, routing.extra_keys.to_vec());
        routing.extra_keys = &extra_keys;
        steps.charge(extra_keys.len());
    }
    let load = |queue| queues.get(queue).load();
    let (exchange, cacheable) =
        exchanges.route_from(&routing, Publisher::Client, &load, steps, &mut route.targets)?;
    route.exchange = exchange;
    if routing.exchange.is_empty() {
        let keys = std::iter::once(&routing.key).chain(routing.extra_keys);
        route.replies.extend(keys.filter(|key| is_address(key)).map(|key| Box::from(*key)));
    }
    route.names_one = routing.exchange.is_empty() && routing.extra_keys.len() == route.replies.len();
    route.may_be_kept = cacheable == Some(Cacheable::Yes);
    route.generation = exchanges.generation();
    if cacheable.is_none() {
        route.generation = NO_GENERATION;
        route.unrouted = Some(Box::new(Unrouted::new(std::mem::take(&mut exchanges.walk), &routing)));
    }
    Ok(())
}

/// The names of the queues of a route that was just resolved.
pub(in crate::vhost) fn name_route(parts: &Parts, route: &mut Route) -> NamedRoute {
    let name = |id: &QueueId| parts.queues.get(*id).declaration.name.clone();
    NamedRoute {
        exchange: route.exchange,
        queues: route.targets.iter().map(name).collect(),
        names_one: route.names_one || route.unrouted.is_none() && route.targets.len() == 1,
        replies: route.replies.clone(),
        unrouted: route.unrouted.take(),
    }
}

/// Finds the queues that have these names now.
pub(in crate::vhost) fn resolve_names(parts: &Parts, named: &mut NamedRoute, route: &mut Route) {
    let Parts { exchanges, queues, .. } = parts;
    route.targets.clear();
    route.targets.extend(named.queues.iter().filter_map(|name| queues.find(name)));
    route.replies.clone_from(&named.replies);
    (route.exchange, route.names_one) = (named.exchange, named.names_one);
    (route.generation, route.may_be_kept) = (exchanges.generation(), false);
    route.unrouted = named.unrouted.take();
}

/// Counts messages that a channel has published to an exchange. `counted_queue_count` is the number of queues that the exchange
/// counts, and `queue_count` the number of existing queues.
pub(in crate::vhost) fn note_published(
    parts: &mut Parts,
    channel: ChannelId,
    (exchange, counted_queue_count): (ExchangeId, usize),
    queue_count: usize,
    run: PublishRun,
) {
    let PublishRun { message_count, refused_count, is_mandatory } = run;
    let (channel, host) = (parts.channels.get_mut(channel), &mut parts.counted);
    channel.counted.messages.publish += message_count;
    host.publish += message_count;
    if channel.mode.is_confirming {
        let confirmed_count = message_count.saturating_sub(refused_count);
        channel.counted.confirm += confirmed_count;
        host.confirm += confirmed_count;
        host.publish_confirm += message_count;
    }
    match queue_count {
        0 if is_mandatory => {
            channel.counted.return_unroutable += message_count;
            host.return_unroutable += message_count;
        }
        0 => {
            channel.counted.drop_unroutable += message_count;
            host.drop_unroutable += message_count;
        }
        _ => {}
    }
    parts.exchanges.topology.note_published(exchange, message_count, counted_queue_count as u64);
}

/// Publishes a message along a route that holds.
#[inline]
pub(in crate::vhost) fn publish<O: HostOutbox>(
    turn: &mut Turn<'_, O>,
    route: &Route,
    message: &Message<'_>,
) -> Published {
    for address in &route.replies {
        deliver_reply(turn, address, message);
    }
    if turn.parts.store.count() >= turn.parts.limits.messages_max {
        return Published::Refused;
    }
    turn.parts.steps.charge(route.targets.len());
    let mut stored = None;
    let mut published = if route.targets.is_empty() { Published::Unroutable } else { Published::Routed };
    for target in &route.targets {
        if !enqueue(turn, *target, message, &mut stored) {
            published = Published::Refused;
        }
    }
    end_publish(&mut turn.parts.store, stored);
    published.logged(append(turn, message, None))
}

/// Publishes a message along a long route. The outcome is the connection's once the message is in all its queues.
pub(in crate::vhost) fn publish_slowly<O: HostOutbox>(
    turn: &mut Turn<'_, O>,
    by: PublishedBy,
    route: &mut Route,
    message: &Message<'_>,
) {
    for address in &route.replies {
        deliver_reply(turn, address, message);
    }
    let mut publishing = publishing(turn, Some(by), &route.targets, route.unrouted.take(), message);
    publishing.exchange = route.exchange;
    if turn.parts.store.count() >= turn.parts.limits.messages_max {
        publishing.published = Published::Refused;
        publishing.served_count = publishing.targets.len();
        publishing.unrouted = None;
    }
    let owner = turn.parts.channels.get(by.channel).connection;
    if !go_on_publishing(turn, &mut publishing) {
        turn.parts.put_off(Some(owner), Chore::Publish(publishing));
    }
}

#[cold]
fn deliver_reply<O: HostOutbox>(turn: &mut Turn<'_, O>, address: &[u8], message: &Message<'_>) {
    let parts = &mut *turn.parts;
    if let Some(consumer) = parts.replies.get(address).copied() {
        let view = message.view();
        hand_over(&parts.consumers, &mut parts.channels, turn.outbox, consumer, false, &view);
        let channel = parts.consumers.get(consumer).channel;
        parts.channels.get_mut(channel).note_reply();
    }
}

/// Puts a message into a queue, or gives it to one of the queue's consumers. Returns whether the queue takes it.
/// `stored` is the message's number once it is stored.
#[inline]
pub(super) fn enqueue<O: HostOutbox>(
    turn: &mut Turn<'_, O>,
    id: QueueId,
    message: &Message<'_>,
    stored: &mut Option<MessageId>,
) -> bool {
    let queue = turn.parts.queues.get_mut(id);
    if queue.is_limited && queue.refuses(message.body.as_bytes().len()) {
        refuse(turn.parts, id, message, stored);
        return false;
    }
    queue.ready.note_arrival();
    if queue.ready.is_empty()
        && !queue.rotation.is_empty()
        && may_go_direct(turn.parts, id, message.attributes.is_persistent, turn.now)
        && let Some(consumer) = next_consumer(turn.parts, id)
    {
        deliver_direct(turn, id, consumer, message, stored);
    } else {
        keep(turn, id, message, stored);
    }
    true
}

/// Appends the arrived message to the waiting ones.
#[inline]
fn keep<O: HostOutbox>(
    turn: &mut Turn<'_, O>,
    id: QueueId,
    message: &Message<'_>,
    stored: &mut Option<MessageId>,
) {
    let parts = &mut *turn.parts;
    let is_logged = note_logged(parts, id, message, turn.now);
    let queue = parts.queues.get_mut(id);
    if queue.ready.is_empty() {
        queue.capacity.block(turn.now);
    }
    let entry = Entry {
        sequence: queue.ready.last_sequence(),
        expires_at: queue.expiry_of(message.attributes.expiration_ms, turn.now),
        message: store_once(&mut parts.store, message, stored),
        return_count: 0,
        priority: queue.ready.list_of(message.attributes.priority),
        marks: Marks::new(is_logged, false),
    };
    let before = queue.ready.memory_bytes();
    queue.ready.push(entry, message.body.as_bytes().len() as u32);
    let (after, is_limited) = (queue.ready.memory_bytes(), queue.is_limited);
    let may_expire = queue.ready.may_expire();
    if before != after {
        parts.queues.note_memory(before, after);
    }
    if turn.parts.pages.are_written {
        page_out(turn, id);
    }
    if is_limited || may_expire {
        shorten(turn, id);
        expire_fronts(turn, id);
    }
}

/// Passes over the queues that would send the dead letter round in a circle.
fn pass_over_cycles(parts: &Parts, publishing: &mut Publishing) {
    let Some(reason) = publishing.reason else { return };
    let message = publishing.message.message();
    let Ok(properties) = Properties::decode(message.properties) else { return };
    let Some(headers) = properties.headers.filter(|_| reason != Reason::Rejected) else { return };
    publishing.targets.retain(|(id, serial)| {
        parts.queues.is_there(*id, *serial) && !is_cycle(&headers, &parts.queues.get(*id).declaration.name)
    });
}

/// Ends a message that is in all its queues: counts it, and reports the outcome to its publisher, if its channel exists.
fn end_publishing(parts: &mut Parts, by: PublishedBy, publishing: &mut Publishing) {
    let queue_count = publishing.targets.len();
    let run = PublishRun::one(publishing.published, by.is_mandatory);
    if parts.channels.find(by.channel).is_none() {
        return;
    }
    note_published(parts, by.channel, (publishing.exchange, queue_count), queue_count, run);
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
        // The message has no place in the queue.
        let entry = Entry {
            sequence: 0,
            expires_at: NEVER,
            message: store_once(&mut parts.store, message, stored),
            return_count: 0,
            priority: 0,
            marks: Marks::default(),
        };
        bury(parts, id, &entry, Reason::MaxLength);
    }
}

/// Creates the state of a message to these queues, and to the queues at the end of the rest of its route.
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
        durability: Durability::Memory,
        reason: None,
    })
}

/// Continues a message. Returns true if all its queues have it.
pub(super) fn go_on_publishing<O: HostOutbox>(turn: &mut Turn<'_, O>, publishing: &mut Publishing) -> bool {
    if !go_on_routing(turn, publishing) {
        return false;
    }
    let message = publishing.message.message();
    while let Some((id, serial)) = publishing.targets.get(publishing.served_count).copied() {
        if turn.parts.steps.are_spent() {
            // A queue's consumer may settle the message before the other queues have it.
            publishing.durability = publishing.durability.max(append(turn, &message, None));
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
        let is_taken = enqueue(turn, id, &message, &mut publishing.stored);
        publishing.published = match publishing.published {
            Published::Unroutable if is_taken => Published::Routed,
            published if is_taken => published,
            _ => Published::Refused,
        };
    }
    publishing.durability = publishing.durability.max(append(turn, &message, None));
    publishing.published = publishing.published.logged(publishing.durability);
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
    let table = &mut exchanges.topology.table;
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
