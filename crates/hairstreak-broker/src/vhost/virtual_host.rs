//! `VirtualHost`: the public face of the machine of mod.rs.

use std::sync::Arc;

use hairstreak_wire::amqp::{FieldTable, ReplyCode};

use super::changes_mut::ChangesMut;
use super::channels_mut::ChannelsMut;
use super::options::{HostSettings, Limits};
use super::outbox::{ChannelId, ConnectionId, HostOutbox, is_address};
use super::parts::Parts;
use super::policies_mut::PoliciesMut;
use super::publishing::PublishedBy;
use super::route::{NO_GENERATION, NamedRoute, Published, Route, Unrouted};
use super::turn::{Got, Turn};
use super::unacked::Settlement;
use super::views::Views;
use crate::exchange::{Cacheable, Exchanges, Publisher, Routing, distinct};
use crate::message::{Message, MessageView, SegmentPool};
use crate::queue::{ConsumerDeclaration, QueueDeclaration, QueueId, QueueStatus};
use crate::refusal::Refusal;

/// The messages of a virtual host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageCounts {
    /// Messages that wait in queues; a message counts in each of its queues.
    pub ready: u64,
    /// Messages that are delivered and not settled.
    pub unacknowledged: u64,
}

/// One virtual host: its exchanges, queues, channels and messages. `now`: see the module.
pub struct VirtualHost {
    pub(super) parts: Parts,
}

/// Connections and channels.
impl VirtualHost {
    /// A virtual host with the exchanges that each has.
    pub fn new(name: &str, limits: Limits) -> VirtualHost {
        VirtualHost::with_pool(name, limits, Arc::new(SegmentPool::new(0)))
    }

    /// The same, with memory from a pool that it shares with other hosts, on any threads.
    pub fn with_pool(name: &str, limits: Limits, pool: Arc<SegmentPool>) -> VirtualHost {
        VirtualHost { parts: Parts::new(name, limits, pool) }
    }

    /// Opens a channel. `number` is the channel's number on its connection.
    ///
    /// # Errors
    ///
    /// [`Limits::channels_max`]: `RESOURCE_ERROR`.
    pub fn open_channel(&mut self, connection: ConnectionId, number: u16) -> Result<ChannelId, Refusal> {
        let limit = self.parts.limits.channels_max;
        if self.parts.channels.count() >= limit {
            let text = format!("the virtual host has {limit} channels, the limit");
            return Err(Refusal::new(ReplyCode::ResourceError, text));
        }
        self.parts.counted.channels_opened += 1;
        Ok(self.parts.channels.open(connection, number))
    }

    /// Closes a channel: the channel's consumers end, and unacknowledged messages return to their places.
    pub fn close_channel(&mut self, channel: ChannelId, now: u64, outbox: &mut impl HostOutbox) {
        Turn::new(&mut self.parts, now, outbox).close_channel(channel);
    }

    /// Closes the channels of a connection, and deletes the connection's exclusive queues.
    pub fn close_connection(&mut self, connection: ConnectionId, now: u64, outbox: &mut impl HostOutbox) {
        Turn::new(&mut self.parts, now, outbox).close_connection(connection);
    }

    /// Notes of the server on channels.
    pub fn channels_mut(&mut self) -> ChannelsMut<'_> {
        ChannelsMut { parts: &mut self.parts }
    }

    /// The connection that got [`Room::Full`](super::Room) takes deliveries again.
    pub fn handle_room(&mut self, connection: ConnectionId, now: u64, outbox: &mut impl HostOutbox) {
        Turn::new(&mut self.parts, now, outbox).handle_room(connection);
    }
}

/// Exchanges.
impl VirtualHost {
    /// The exchanges, to declare, delete and bind them.
    pub fn exchanges_mut(&mut self) -> &mut Exchanges {
        &mut self.parts.exchanges
    }

    /// Deletes an exchange with all its bindings, as [`Exchanges::delete`] does.
    ///
    /// # Errors
    ///
    /// Those of [`Exchanges::delete`].
    pub fn delete_exchange(
        &mut self,
        owner: ConnectionId,
        name: &[u8],
        if_unused: bool,
        now: u64,
        outbox: &mut impl HostOutbox,
    ) -> Result<(), Refusal> {
        Turn::new(&mut self.parts, now, outbox).delete_exchange(owner, name, if_unused)
    }
}

/// Queues and bindings. An empty queue name for the queue that a channel declared last is the caller's to replace.
impl VirtualHost {
    /// Declares a queue for a channel of the connection `owner`.
    ///
    /// # Errors
    ///
    /// RabbitMQ's: `ACCESS_REFUSED` for a reserved name, `RESOURCE_LOCKED` for an exclusive queue of another connection,
    /// `PRECONDITION_FAILED` for invalid or inequivalent arguments, at [`Limits::queues_max`], at [`Limits::declared_bytes_max`] and at the operator's limit.
    pub fn declare_queue(
        &mut self,
        owner: ConnectionId,
        declaration: &QueueDeclaration,
        now: u64,
    ) -> Result<QueueStatus, Refusal> {
        self.parts.declare_queue(owner, declaration, now)
    }

    /// A passive declaration, also of `amq.rabbitmq.reply-to` and of a reply address.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND`, `RESOURCE_LOCKED`.
    pub fn check_queue(
        &mut self,
        owner: ConnectionId,
        name: &[u8],
        now: u64,
    ) -> Result<QueueStatus, Refusal> {
        self.parts.check_queue(owner, name, now)
    }

    /// Deletes a queue and returns how many messages waited. A queue that does not exist counts as deleted.
    ///
    /// # Errors
    ///
    /// `PRECONDITION_FAILED` by `if_unused` and `if_empty`, `RESOURCE_LOCKED`.
    pub fn delete_queue(
        &mut self,
        owner: ConnectionId,
        name: &[u8],
        if_unused: bool,
        if_empty: bool,
        now: u64,
        outbox: &mut impl HostOutbox,
    ) -> Result<u32, Refusal> {
        Turn::new(&mut self.parts, now, outbox).delete_named(owner, name, if_unused, if_empty)
    }

    /// Drops the messages that wait in a queue and returns how many there were.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND`, `RESOURCE_LOCKED`.
    pub fn purge_queue(&mut self, owner: ConnectionId, name: &[u8]) -> Result<u32, Refusal> {
        self.parts.steps.begin(self.parts.limits.steps_max);
        self.parts.purge_queue(owner, name)
    }

    /// Binds a queue to an exchange.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND`, `RESOURCE_LOCKED`, and those of the exchange.
    pub fn bind_queue(
        &mut self,
        owner: ConnectionId,
        queue: &[u8],
        exchange: &[u8],
        routing_key: &[u8],
        arguments: &FieldTable,
    ) -> Result<(), Refusal> {
        self.parts.bind_queue(owner, queue, exchange, routing_key, arguments)
    }

    /// Takes a binding back. A binding or a queue that does not exist is no error.
    ///
    /// # Errors
    ///
    /// `RESOURCE_LOCKED`, and those of the exchange.
    pub fn unbind_queue(
        &mut self,
        owner: ConnectionId,
        queue: &[u8],
        exchange: &[u8],
        routing_key: &[u8],
        arguments: &FieldTable,
    ) -> Result<(), Refusal> {
        self.parts.unbind_queue(owner, queue, exchange, routing_key, arguments)
    }
}

/// Publishing.
impl VirtualHost {
    /// Whether messages with the exchange, routing key and CC headers of this route may take the route again.
    #[inline]
    pub fn holds(&self, route: &Route) -> bool {
        route.may_be_kept && route.generation == self.parts.exchanges.generation()
    }

    /// Finds where messages like this one go, and puts it into `route`.
    ///
    /// # Errors
    ///
    /// Those of the exchange: `NOT_FOUND`, and `ACCESS_REFUSED` for an internal exchange.
    pub fn resolve(&mut self, routing: &Routing<'_>, route: &mut Route) -> Result<(), Refusal> {
        route.targets.clear();
        route.replies.clear();
        route.unrouted = None;
        let Parts { exchanges, queues, steps, limits, .. } = &mut self.parts;
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
    pub fn name_route(&self, route: &mut Route) -> NamedRoute {
        let name = |id: &QueueId| self.parts.queues.get(*id).declaration.name.clone();
        NamedRoute {
            exchange: route.exchange,
            queues: route.targets.iter().map(name).collect(),
            names_one: route.names_one || route.unrouted.is_none() && route.targets.len() == 1,
            replies: route.replies.clone(),
            unrouted: route.unrouted.take(),
        }
    }

    /// Finds the queues that have these names now, and puts them into `route`.
    pub fn resolve_names(&self, named: &mut NamedRoute, route: &mut Route) {
        let Parts { exchanges, queues, .. } = &self.parts;
        route.targets.clear();
        route.targets.extend(named.queues.iter().filter_map(|name| queues.find(name)));
        route.replies.clone_from(&named.replies);
        (route.exchange, route.names_one) = (named.exchange, named.names_one);
        (route.generation, route.may_be_kept) = (exchanges.generation(), false);
        route.unrouted = named.unrouted.take();
    }

    /// Publishes a message along its route. The route must be of the message's exchange and keys; see [`Published::Stale`].
    #[inline]
    pub fn publish(
        &mut self,
        route: &Route,
        message: &Message<'_>,
        now: u64,
        outbox: &mut impl HostOutbox,
    ) -> Published {
        if route.generation != self.parts.exchanges.generation() {
            return Published::Stale;
        }
        Turn::new(&mut self.parts, now, outbox).publish(route, message)
    }

    /// Publishes a message along a [long](Route::is_long) route. The connection [waits](Views::has_to_wait) until each queue has the message, and then
    /// finds the outcome by [`take_outcome`](ChannelsMut::take_outcome).
    pub fn publish_slowly(
        &mut self,
        by: PublishedBy,
        route: &mut Route,
        message: &Message<'_>,
        now: u64,
        outbox: &mut impl HostOutbox,
    ) {
        Turn::new(&mut self.parts, now, outbox).publish_slowly(by, route, message);
    }
}

/// Consuming.
impl VirtualHost {
    /// Starts a consumer. `started` gets the consumer tag before the first delivery: the place for consume-ok.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND`, `RESOURCE_LOCKED`, `ACCESS_REFUSED` (exclusive use), `NOT_ALLOWED` (the tag is in use, or too many
    /// consumers), `PRECONDITION_FAILED` (arguments).
    pub fn consume<O: HostOutbox>(
        &mut self,
        channel: ChannelId,
        declaration: &ConsumerDeclaration<'_>,
        now: u64,
        outbox: &mut O,
        started: impl FnOnce(&mut O, &[u8]),
    ) -> Result<(), Refusal> {
        Turn::new(&mut self.parts, now, outbox).consume(channel, declaration, started)
    }

    /// Ends a consumer. Its unacknowledged deliveries stay with the channel. An unknown tag is no error.
    pub fn cancel(
        &mut self,
        channel: ChannelId,
        consumer_tag: &[u8],
        now: u64,
        outbox: &mut impl HostOutbox,
    ) {
        Turn::new(&mut self.parts, now, outbox).cancel(channel, consumer_tag);
    }

    /// Takes one message. Returns whether there was one; `take` gets the message.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND`, `RESOURCE_LOCKED`.
    pub fn get<O: HostOutbox>(
        &mut self,
        channel: ChannelId,
        queue: &[u8],
        no_ack: bool,
        now: u64,
        outbox: &mut O,
        take: impl FnOnce(&mut O, Got, &MessageView<'_>),
    ) -> Result<bool, Refusal> {
        Turn::new(&mut self.parts, now, outbox).get(channel, queue, no_ack, take)
    }

    /// Sets how many unacknowledged deliveries each later consumer of the channel may have, or all consumers of the
    /// channel together (`is_global`). 0: no limit.
    pub fn set_prefetch(
        &mut self,
        channel: ChannelId,
        count: u16,
        is_global: bool,
        now: u64,
        outbox: &mut impl HostOutbox,
    ) {
        Turn::new(&mut self.parts, now, outbox).set_prefetch(channel, count, is_global);
    }

    /// Lets deliveries to a channel flow, or stops them.
    pub fn set_flow(&mut self, channel: ChannelId, is_active: bool, now: u64, outbox: &mut impl HostOutbox) {
        Turn::new(&mut self.parts, now, outbox).set_flow(channel, is_active);
    }
}

/// Settling.
impl VirtualHost {
    /// Acknowledges one delivery, or all up to one; tag 0 with `multiple`: all.
    ///
    /// # Errors
    ///
    /// An unknown delivery tag: `PRECONDITION_FAILED`, and nothing is settled.
    pub fn ack(
        &mut self,
        channel: ChannelId,
        delivery_tag: u64,
        multiple: bool,
        now: u64,
        outbox: &mut impl HostOutbox,
    ) -> Result<(), Refusal> {
        Turn::new(&mut self.parts, now, outbox).ack(channel, delivery_tag, multiple)
    }

    /// Takes deliveries for a transaction, which settles them with [`settle_held`](VirtualHost::settle_held): for everything else the channel does
    /// not have them any more. Returns how many.
    ///
    /// # Errors
    ///
    /// As [`ack`](VirtualHost::ack).
    pub fn hold(&mut self, channel: ChannelId, delivery_tag: u64, multiple: bool) -> Result<usize, Refusal> {
        self.parts.last_of(channel, delivery_tag)?;
        let count = self.parts.channels.hold(channel, delivery_tag, multiple);
        self.parts.steps.charge(count);
        Ok(count)
    }

    /// Settles the `count` deliveries that have been held the longest.
    pub fn settle_held(
        &mut self,
        channel: ChannelId,
        count: usize,
        settlement: Settlement,
        now: u64,
        outbox: &mut impl HostOutbox,
    ) {
        Turn::new(&mut self.parts, now, outbox).settle_held(channel, count, settlement);
    }

    /// Rejects deliveries: they return to their places in the queue (`requeue`), or are dead-lettered.
    ///
    /// # Errors
    ///
    /// As [`ack`](VirtualHost::ack).
    pub fn reject(
        &mut self,
        channel: ChannelId,
        delivery_tag: u64,
        multiple: bool,
        requeue: bool,
        now: u64,
        outbox: &mut impl HostOutbox,
    ) -> Result<(), Refusal> {
        Turn::new(&mut self.parts, now, outbox).reject(channel, delivery_tag, multiple, requeue)
    }

    /// Delivers all unacknowledged messages of a channel again: they return to their places in the queues.
    ///
    /// # Errors
    ///
    /// Without `requeue`: `NOT_IMPLEMENTED`, as in RabbitMQ.
    pub fn recover(
        &mut self,
        channel: ChannelId,
        requeue: bool,
        now: u64,
        outbox: &mut impl HostOutbox,
    ) -> Result<(), Refusal> {
        Turn::new(&mut self.parts, now, outbox).recover(channel, requeue)
    }
}

/// Time, policies and figures.
impl VirtualHost {
    /// The policies, to change them and to have the changes act.
    pub fn policies_mut(&mut self) -> PoliciesMut<'_> {
        PoliciesMut { parts: &mut self.parts }
    }

    /// Messages and queues expire, and dead letters that wait go on. Due again at once while
    /// [`next_timeout`](VirtualHost::next_timeout) is in the past.
    pub fn handle_timeout(&mut self, now: u64, outbox: &mut impl HostOutbox) {
        Turn::new(&mut self.parts, now, outbox).handle_timeout();
    }

    /// When [`handle_timeout`](VirtualHost::handle_timeout) has something to do.
    pub fn next_timeout(&self) -> Option<u64> {
        let Parts { letters, touched, chores, exchanges, timers, .. } = &self.parts;
        let is_at_rest =
            letters.is_empty() && touched.is_empty() && chores.is_empty() && exchanges.going.is_empty();
        if is_at_rest { timers.next() } else { Some(0) }
    }

    /// Has an operator's settings take effect.
    pub fn set_settings(&mut self, settings: HostSettings) {
        self.parts.settings = settings;
    }

    /// The host as operators see it.
    pub fn views(&self) -> Views<'_> {
        Views { parts: &self.parts }
    }

    /// The changes of what outlives the node, and putting it back.
    pub fn changes_mut(&mut self) -> ChangesMut<'_> {
        ChangesMut { parts: &mut self.parts }
    }

    /// The memory of messages, queue entries and unacknowledged deliveries, in bytes. O(1).
    pub fn memory_bytes(&self) -> usize {
        self.parts.memory_bytes()
    }

    /// How many messages there are, summed over the queues.
    pub fn message_counts(&self) -> MessageCounts {
        let mut counts = MessageCounts::default();
        for queue in self.parts.queues.iter() {
            counts.ready += queue.ready.count() as u64;
            counts.unacknowledged += queue.unacknowledged;
        }
        counts
    }

    /// How many persistent messages lie in durable queues, unacknowledged ones included. Visits each message.
    pub fn durable_message_count(&self) -> u64 {
        self.parts.durable_message_count()
    }
}
