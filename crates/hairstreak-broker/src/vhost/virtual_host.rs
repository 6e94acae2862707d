//! `VirtualHost`: the public face of the machine of mod.rs.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hairstreak_wire::amqp::{FieldTable, ReplyCode};

use super::appends::LogChange;
use super::channels::Channels;
use super::chores::Chore;
use super::credit::{handle_room, last_of, set_flow, set_prefetch};
use super::declare::{
    bind_queue, check_queue, declare_queue, purge_queue, restore, restore_messages, unbind_queue,
};
use super::options::{HostSettings, Limits};
use super::outbox::{ChannelId, ConnectionId, HostOutbox};
use super::pages::{LeaseRequest, PagePlace, PageRequest, ReadMessage};
use super::parts::{Parts, Turn};
use super::publishing::{PublishRun, PublishedBy};
use super::route::{NamedRoute, Published, Route};
use super::turn::{GetOutcome, Got, consume, leases, leave, paging, policies, progress, publish, settle};
use super::unacked::Settlement;
use super::views::{self, consumer_info, queue_info};
use crate::change::{Change, Changes};
use crate::exchange::{Exchanges, Routing, Topology};
use crate::message::{Message, MessageView, SegmentPool};
use crate::policy::{PolicyChange, PolicyCursor, PolicySlice};
use crate::queue::{Consumer, ConsumerDeclaration, QueueDeclaration, QueueKind, QueueStatus, StoredMessages};
use crate::refusal::Refusal;
use crate::stats::HostStats;
use crate::view::{ConsumerInfo, PeekInfo, QueueInfo};

/// Steps of a pattern that take as long as a queue entry.
const PATTERN_STEPS: usize = 16;
/// Deliveries that one step moves.
const MOVES_A_STEP: usize = 8;

/// The messages of a virtual host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageCounts {
    /// Messages that wait in queues; a message counts in each of its queues.
    pub ready: u64,
    /// Messages that are delivered and not settled.
    pub unacknowledged: u64,
}

/// One virtual host: its exchanges, queues, channels and messages. `now`: see the module.
// tidy: allow(methods): the public face of the machine, with one method for each operation of AMQP. The operations are functions in the other files.
pub struct VirtualHost {
    pub(super) parts: Parts,
}

/// Connections and channels.
impl VirtualHost {
    /// A virtual host with the exchanges that each has.
    pub fn new(name: &str, limits: Limits) -> VirtualHost {
        VirtualHost::with_pool(name, limits, Arc::new(SegmentPool::new(0)))
    }

    /// Creates a virtual host that shares the memory of a pool with other hosts, on any threads.
    pub fn with_pool(name: &str, limits: Limits, pool: Arc<SegmentPool>) -> VirtualHost {
        VirtualHost { parts: Parts::new(name, limits, pool) }
    }

    /// Makes one call: `act`, and then the deliveries and dead letters that follow from it.
    #[inline]
    fn call<O: HostOutbox, T>(
        &mut self,
        now: u64,
        outbox: &mut O,
        act: impl FnOnce(&mut Turn<'_, O>) -> T,
    ) -> T {
        let mut turn = Turn::new(&mut self.parts, now, outbox);
        let result = act(&mut turn);
        progress::finish(&mut turn);
        result
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
        self.call(now, outbox, |turn| leave::close_channel(turn, channel));
    }

    /// Closes the channels of a connection, and deletes the connection's exclusive queues.
    pub fn close_connection(&mut self, connection: ConnectionId, now: u64, outbox: &mut impl HostOutbox) {
        self.call(now, outbox, |turn| leave::close_connection(turn, connection));
    }

    /// The open channels, as operators see them.
    pub fn channels(&self) -> &Channels {
        &self.parts.channels
    }

    /// The open channels, to set their modes and to take the outcomes of their messages.
    #[inline]
    pub fn channels_mut(&mut self) -> &mut Channels {
        &mut self.parts.channels
    }

    /// Returns true if an operation of the connection takes more than one call and is not done. The host wakes the connection at
    /// the end. Until then the connection sends no answers and no further requests.
    #[inline]
    pub fn has_to_wait(&self, connection: ConnectionId) -> bool {
        self.parts.chores.are_awaited()
            && self.parts.channels.find_connection(connection).is_some_and(|of| of.chore_count > 0)
    }

    /// The connection that returned [`Room::Full`](super::Room) takes deliveries again.
    pub fn handle_room(&mut self, connection: ConnectionId, now: u64, outbox: &mut impl HostOutbox) {
        self.call(now, outbox, |turn| handle_room(turn.parts, connection));
    }
}

/// Exchanges.
impl VirtualHost {
    /// The exchanges and bindings, as operators see them.
    pub fn topology(&self) -> &Topology {
        &self.parts.exchanges.topology
    }

    /// The exchanges, to declare, delete and bind them.
    pub fn exchanges_mut(&mut self) -> &mut Exchanges {
        &mut self.parts.exchanges
    }

    /// Deletes an exchange with all its bindings, as [`Exchanges::delete`] does.
    ///
    /// # Errors
    ///
    /// The errors of [`Exchanges::delete`].
    pub fn delete_exchange(
        &mut self,
        owner: ConnectionId,
        name: &[u8],
        if_unused: bool,
        now: u64,
        outbox: &mut impl HostOutbox,
    ) -> Result<(), Refusal> {
        self.call(now, outbox, |turn| leave::delete_exchange(turn.parts, owner, name, if_unused))
    }
}

/// Queues and bindings. An empty queue name for the queue that a channel declared last is the caller's to replace.
impl VirtualHost {
    /// Declares a queue for a channel of the connection `owner`.
    ///
    /// # Errors
    ///
    /// RabbitMQ's errors. `ACCESS_REFUSED` for a reserved name, `RESOURCE_LOCKED` for an exclusive queue of another connection.
    /// `PRECONDITION_FAILED` for invalid or inequivalent arguments, at [`Limits::queues_max`], at [`Limits::declared_bytes_max`]
    /// and at the operator's limit.
    pub fn declare_queue(
        &mut self,
        owner: ConnectionId,
        declaration: &QueueDeclaration,
        now: u64,
    ) -> Result<QueueStatus, Refusal> {
        declare_queue(&mut self.parts, owner, declaration, now)
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
        check_queue(&mut self.parts, owner, name, now)
    }

    /// Deletes a queue and returns the number of messages that waited. A queue that does not exist counts as deleted.
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
        self.call(now, outbox, |turn| leave::delete_named(turn, owner, name, if_unused, if_empty))
    }

    /// Drops the messages that wait in a queue and returns their number.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND`, `RESOURCE_LOCKED`.
    pub fn purge_queue(&mut self, owner: ConnectionId, name: &[u8]) -> Result<u32, Refusal> {
        self.parts.steps.begin(self.parts.limits.steps_max);
        purge_queue(&mut self.parts, owner, name)
    }

    /// Binds a queue to an exchange.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND`, `RESOURCE_LOCKED`, and the errors of the exchange.
    pub fn bind_queue(
        &mut self,
        owner: ConnectionId,
        queue: &[u8],
        exchange: &[u8],
        routing_key: &[u8],
        arguments: &FieldTable,
    ) -> Result<(), Refusal> {
        bind_queue(&mut self.parts, owner, queue, exchange, routing_key, arguments)
    }

    /// Takes a binding back. A binding or a queue that does not exist is no error.
    ///
    /// # Errors
    ///
    /// `RESOURCE_LOCKED`, and the errors of the exchange.
    pub fn unbind_queue(
        &mut self,
        owner: ConnectionId,
        queue: &[u8],
        exchange: &[u8],
        routing_key: &[u8],
        arguments: &FieldTable,
    ) -> Result<(), Refusal> {
        unbind_queue(&mut self.parts, owner, queue, exchange, routing_key, arguments)
    }

    /// Restores an exchange, a queue or a binding when the node starts. Any name is accepted, and no limit applies. Exchanges and
    /// queues come before the bindings between them. An object that exists already and is the same is no error. Nothing is
    /// recorded.
    ///
    /// # Errors
    ///
    /// The texts of declaring and binding. `PRECONDITION_FAILED`: arguments are invalid, or another object has the name.
    /// `COMMAND_INVALID`: the type of the exchange is unknown. `NOT_FOUND`: an end of the binding is missing. `NOT_IMPLEMENTED`:
    /// the change takes something away.
    pub fn restore(&mut self, change: &Change, now: u64) -> Result<(), Refusal> {
        restore(&mut self.parts, change, now)
    }

    /// Logs the messages of durable queues that are added from now on. `ids` has the last id that a queue of the node has had.
    pub fn log_messages(&mut self, ids: Arc<AtomicU64>) {
        self.parts.appends.log(ids);
    }

    /// The changes of logged queues, behind their messages. The caller takes them at the end of each turn.
    #[inline]
    pub fn log_changes(&mut self) -> &mut Vec<LogChange> {
        self.parts.appends.changes()
    }

    /// Has the log and the pages forget all queues: the host is deleted.
    pub fn forget_logged(&mut self) {
        let ids = self.parts.queues.iter().map(|queue| queue.log_id()).filter(|id| *id != 0);
        let changes = ids.map(|queue| LogChange::Forgotten { queue });
        self.parts.appends.changes().extend(changes);
        let paged = self.parts.queues.iter().filter_map(|queue| queue.ready.paged());
        let requests = paged.map(|paged| PageRequest::Forget { page_id: paged.page_id });
        self.parts.pages.requests.extend(requests);
    }

    /// Adds the messages of the log to a queue when the node starts. `last_sequence`: the last place that the queue has given to a
    /// message. `marked`: messages up to this place count as delivered.
    pub fn restore_messages(
        &mut self,
        queue: &[u8],
        stored: StoredMessages,
        (last_sequence, marked): (u64, u64),
    ) {
        restore_messages(&mut self.parts, queue, stored, (last_sequence, marked));
    }

    /// The changes of durable exchanges, queues and bindings. None are recorded at first. Recorded changes are kept until they are taken.
    #[inline]
    pub fn changes_mut(&mut self) -> &mut Changes {
        &mut self.parts.exchanges.topology.changes
    }
}

/// Messages on disk. Only a host with a message log ([`VirtualHost::log_messages`]) writes messages to disk.
impl VirtualHost {
    /// Has queues write messages to disk from now on, or no longer.
    #[inline]
    pub fn write_pages(&mut self, are_written: bool) {
        let begins = are_written && !self.parts.pages.are_written && self.parts.appends.is_on();
        let Parts { pages, limits, .. } = &mut self.parts;
        pages.are_written = are_written;
        if !are_written {
            (pages.page_bytes, pages.paused) = (limits.page_bytes, None);
        }
        if begins {
            self.parts.put_off(None, Chore::WritePages(0));
        }
    }

    /// The requests to write and to read messages. The caller takes them at the end of each turn, in their order.
    #[inline]
    pub fn page_requests(&mut self) -> &mut Vec<PageRequest> {
        &mut self.parts.pages.requests
    }

    /// The messages of a [`PageRequest::Write`] are on disk: up to the place `through`, with `bytes` of estimated memory.
    pub fn pages_written(
        &mut self,
        place: PagePlace,
        (through, bytes): (u64, u64),
        now: u64,
        outbox: &mut impl HostOutbox,
    ) {
        self.call(now, outbox, |turn| paging::pages_written(turn, place, through, bytes));
    }

    /// Messages of a [`PageRequest::Read`] were read, in the order of their places. `next` is the first place that was not read.
    pub fn pages_read<'a>(
        &mut self,
        place: PagePlace,
        messages: impl Iterator<Item = ReadMessage<'a>>,
        next: u64,
        now: u64,
        outbox: &mut impl HostOutbox,
    ) {
        self.call(now, outbox, |turn| paging::pages_read(turn, place, messages, next));
    }

    /// The disk has a lease.
    pub fn lease_granted(&mut self, lease: LeaseRequest, now: u64, outbox: &mut impl HostOutbox) {
        self.call(now, outbox, |turn| leases::granted(turn, lease));
    }

    /// The leases of logged queues when the node stops in order: pairs of a queue's id in the log, and the place up to which its messages
    /// still count as delivered. Queues with unsettled deliveries are left out.
    pub fn last_leases(&self) -> impl Iterator<Item = (u64, u64)> {
        let queues =
            self.parts.queues.iter().filter(|queue| queue.log_id() != 0 && queue.unacknowledged == 0);
        queues.map(|queue| (queue.log_id(), queue.ready.lease.marked()))
    }

    /// Has a connection wait while the first message of a queue waits for the disk: see [`VirtualHost::has_to_wait`].
    pub fn await_front(&mut self, connection: ConnectionId, queue: &[u8]) {
        if let Some(id) = self.parts.queues.find(queue) {
            self.parts.channels.connection_mut(connection).chore_count += 1;
            self.parts.chores.await_front(connection, id);
        }
    }

    /// Has the first message of a queue read, if the message is on disk. Returns true if the caller has to wait for the message or for its
    /// lease.
    pub fn want_front(&mut self, queue: &[u8]) -> bool {
        let Some(id) = self.parts.queues.find(queue) else { return false };
        self.parts.want_front(id) || self.parts.queues.get(id).is_front_awaited()
    }
}

/// Queues and consumers as operators see them. A listing takes a cursor: 0 at first, then the position that the last call
/// returned, until that is `None`. Between two calls the caller may release the host to others. An item that exists all the time
/// is listed once. A call visits `count_max` positions of the table at most, some of which may be empty.
impl VirtualHost {
    /// The number of queues.
    pub fn queue_count(&self) -> usize {
        self.parts.queues.count()
    }

    /// The queue of that name.
    pub fn queue(&self, name: &[u8]) -> Option<QueueInfo> {
        let id = self.parts.queues.find(name)?;
        Some(queue_info(&self.parts, id, self.parts.queues.get(id)))
    }

    /// The settings of the policies that apply to a queue, merged. `None`: there is no such queue.
    pub fn effective_policy(&self, queue: &[u8]) -> Option<FieldTable> {
        Some(self.parts.queues.get(self.parts.queues.find(queue)?).policies.effective())
    }

    /// Appends queues.
    pub fn queue_infos(&self, from: usize, count_max: usize, into: &mut Vec<QueueInfo>) -> Option<usize> {
        self.parts.queues.visit(from, count_max, |id, queue| into.push(queue_info(&self.parts, id, queue)))
    }

    /// Appends the names of queues.
    pub fn queue_names(&self, from: usize, count_max: usize, into: &mut Vec<Box<[u8]>>) -> Option<usize> {
        self.parts.queues.visit(from, count_max, |_, queue| into.push(queue.declaration.name.clone()))
    }

    /// Checks that a connection may use a queue.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND`, `RESOURCE_LOCKED`.
    pub fn check_access(&self, user: ConnectionId, queue: &[u8]) -> Result<(), Refusal> {
        self.parts.find_queue(user, queue).map(drop)
    }

    /// Passes up to `count` waiting messages behind the first `offset` to `take`, in the order of their delivery. Nothing
    /// changes. Returns the number of these messages; `None`: there is no such queue.
    pub fn peek(
        &self,
        queue: &[u8],
        offset: usize,
        count_max: usize,
        take: impl FnMut(&MessageView<'_>, PeekInfo),
    ) -> Option<usize> {
        views::peek(&self.parts, queue, offset, count_max, take)
    }

    /// The number of consumers of queues.
    pub fn consumer_count(&self) -> usize {
        self.parts.queues.iter().map(|queue| queue.consumers.len()).sum()
    }

    /// Appends consumers of queues.
    pub fn consumer_infos(
        &self,
        from: usize,
        count_max: usize,
        into: &mut Vec<ConsumerInfo>,
    ) -> Option<usize> {
        let add = |consumer: &Consumer| into.extend(consumer_info(&self.parts, consumer));
        self.parts.consumers.visit(from, count_max, add)
    }

    /// The consumers of a queue, in the order in which they came. A queue that does not exist has none.
    pub fn consumers_of_queue(&self, queue: &[u8]) -> Vec<ConsumerInfo> {
        let queue = self.parts.queues.find(queue).map(|id| self.parts.queues.get(id));
        let consumers = queue.into_iter().flat_map(|queue| &queue.consumers);
        consumers.filter_map(|id| consumer_info(&self.parts, self.parts.consumers.get(*id))).collect()
    }
}

/// Publishing.
impl VirtualHost {
    /// Returns true if messages with the exchange, routing key and CC headers of this route may take the route again.
    #[inline]
    pub fn holds(&self, route: &Route) -> bool {
        route.may_be_kept && route.generation == self.parts.exchanges.generation()
    }

    /// Finds the queues of messages like this one, and puts them into `route`.
    ///
    /// # Errors
    ///
    /// The errors of the exchange: `NOT_FOUND`, and `ACCESS_REFUSED` for an internal exchange.
    pub fn resolve(&mut self, routing: &Routing<'_>, route: &mut Route) -> Result<(), Refusal> {
        publish::resolve(&mut self.parts, routing, route)
    }

    /// The names of the queues of a route that was just resolved.
    pub fn name_route(&self, route: &mut Route) -> NamedRoute {
        publish::name_route(&self.parts, route)
    }

    /// Finds the queues that have these names now, and puts them into `route`.
    pub fn resolve_names(&self, named: &mut NamedRoute, route: &mut Route) {
        publish::resolve_names(&self.parts, named, route);
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
        self.call(now, outbox, |turn| publish::publish(turn, route, message))
    }

    /// Publishes a message along a [long](Route::is_long) route. The connection [waits](VirtualHost::has_to_wait) until each
    /// queue has the message, and then finds the outcome by [`take_outcome`](Channels::take_outcome).
    pub fn publish_slowly(
        &mut self,
        by: PublishedBy,
        route: &mut Route,
        message: &Message<'_>,
        now: u64,
        outbox: &mut impl HostOutbox,
    ) {
        self.call(now, outbox, |turn| publish::publish_slowly(turn, by, route, message));
    }

    /// Counts messages that a channel has just published along a route. Messages of one route and in a row may be counted
    /// together.
    pub fn note_published(&mut self, channel: ChannelId, route: &Route, run: PublishRun) {
        let counted = (route.exchange, route.counted_queue_count());
        publish::note_published(&mut self.parts, channel, counted, route.queue_count(), run);
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
        self.call(now, outbox, |turn| consume::consume(turn, channel, declaration, started))
    }

    /// Ends a consumer. Its unacknowledged deliveries stay with the channel. An unknown tag is no error.
    pub fn cancel(
        &mut self,
        channel: ChannelId,
        consumer_tag: &[u8],
        now: u64,
        outbox: &mut impl HostOutbox,
    ) {
        self.call(now, outbox, |turn| consume::cancel(turn, channel, consumer_tag));
    }

    /// Takes one message, which `take` gets.
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
    ) -> Result<GetOutcome, Refusal> {
        self.call(now, outbox, |turn| consume::get(turn, channel, queue, no_ack, take))
    }

    /// Limits the unacknowledged deliveries of each later consumer of the channel, or of all its consumers together
    /// (`is_global`). 0: no limit.
    pub fn set_prefetch(
        &mut self,
        channel: ChannelId,
        count: u16,
        is_global: bool,
        now: u64,
        outbox: &mut impl HostOutbox,
    ) {
        self.call(now, outbox, |turn| set_prefetch(turn.parts, channel, count, is_global));
    }

    /// Lets deliveries to a channel flow, or stops them.
    pub fn set_flow(&mut self, channel: ChannelId, is_active: bool, now: u64, outbox: &mut impl HostOutbox) {
        self.call(now, outbox, |turn| set_flow(turn.parts, channel, is_active));
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
        self.call(now, outbox, |turn| settle::ack(turn.parts, channel, delivery_tag, multiple))
    }

    /// Takes deliveries for a transaction, which settles them with [`settle_held`](VirtualHost::settle_held). For all other
    /// operations the channel no longer has them. Returns their number.
    ///
    /// # Errors
    ///
    /// As [`ack`](VirtualHost::ack).
    pub fn hold(&mut self, channel: ChannelId, delivery_tag: u64, multiple: bool) -> Result<usize, Refusal> {
        last_of(&self.parts, channel, delivery_tag)?;
        let count = self.parts.channels.hold(channel, delivery_tag, multiple);
        self.parts.steps.charge(count);
        Ok(count)
    }

    /// Ends a transaction without a commit: the held deliveries are unsettled again.
    pub fn release_held(&mut self, channel: ChannelId) {
        let moved_count = self.parts.channels.release_held(channel);
        self.parts.steps.charge(moved_count / MOVES_A_STEP);
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
        self.call(now, outbox, |turn| settle::settle_held(turn.parts, channel, count, settlement));
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
        self.call(now, outbox, |turn| settle::reject(turn.parts, channel, delivery_tag, multiple, requeue))
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
        self.call(now, outbox, |turn| settle::recover(turn.parts, channel, requeue))
    }
}

/// Time, policies and figures.
impl VirtualHost {
    /// Changes the policies. Exchanges and queues that are declared from now on have the new ones. For the others take one
    /// [`policy_slice`](VirtualHost::policy_slice) after the other.
    pub fn change_policies(&mut self, changes: impl IntoIterator<Item = PolicyChange>) {
        self.parts.exchanges.change_policies(changes);
    }

    /// Some of the exchanges and queues that have not been matched with the policies.
    pub fn policy_slice(&self, from: PolicyCursor) -> PolicySlice {
        policies::slice(&self.parts, from)
    }

    /// Applies matched policies. Returns true if the slice is done; otherwise call it again.
    ///
    /// As in RabbitMQ a time to live is for messages to come, and a queue's time to expiry begins again when it changes.
    /// Messages beyond a new length go, unless the overflow of the queue is to refuse messages.
    pub fn apply_policies(
        &mut self,
        slice: &mut PolicySlice,
        now: u64,
        outbox: &mut impl HostOutbox,
    ) -> bool {
        self.call(now, outbox, |turn| policies::apply(turn, slice))
    }

    /// Adds the steps of policy patterns to the steps of the host. These are the steps that declarations took since the last
    /// call. One declaration takes one to two milliseconds at most.
    pub fn charge_pattern_steps(&mut self) {
        let pattern_steps = std::mem::take(&mut self.parts.exchanges.pattern_steps);
        self.parts.steps.charge(pattern_steps / PATTERN_STEPS);
    }

    /// Expires messages and queues, and continues waiting dead letters. Due again at once while
    /// [`next_timeout`](VirtualHost::next_timeout) is in the past.
    pub fn handle_timeout(&mut self, now: u64, outbox: &mut impl HostOutbox) {
        self.call(now, outbox, progress::handle_timeout);
    }

    /// The next time at which [`handle_timeout`](VirtualHost::handle_timeout) has work.
    pub fn next_timeout(&self) -> Option<u64> {
        let Parts { letters, touched, chores, exchanges, timers, pages, .. } = &self.parts;
        let is_at_rest = letters.is_empty()
            && touched.is_empty()
            && chores.is_empty()
            && exchanges.topology.going.is_empty();
        let lease_due = pages.leases.front().map(|(_, due)| *due);
        if is_at_rest { [timers.next(), lease_due].into_iter().flatten().min() } else { Some(0) }
    }

    /// Replaces the settings of operators.
    pub fn set_settings(&mut self, settings: HostSettings) {
        self.parts.settings = settings;
    }

    /// The counters of the host. Visits each queue.
    pub fn stats(&self) -> HostStats {
        let queues = &self.parts.queues;
        HostStats {
            classic: queues.stats(QueueKind::Classic),
            quorum: queues.stats(QueueKind::Quorum),
            ..self.parts.counted
        }
    }

    /// Returns the steps of all calls so far. A step costs about as much as a queue entry.
    #[inline]
    pub fn step_count(&self) -> u64 {
        self.parts.steps.done()
    }

    /// The memory of messages, queue entries and unacknowledged deliveries, in bytes. O(1).
    pub fn memory_bytes(&self) -> usize {
        self.parts.memory_bytes()
    }

    /// The number of messages, summed over the queues.
    pub fn message_counts(&self) -> MessageCounts {
        let mut counts = MessageCounts::default();
        for queue in self.parts.queues.iter() {
            counts.ready += queue.ready.count() as u64;
            counts.unacknowledged += queue.unacknowledged;
        }
        counts
    }

    /// The number of messages that the message log has, unacknowledged ones included. Visits each message.
    pub fn logged_message_count(&self) -> u64 {
        self.parts.logged_message_count()
    }

    /// The number of persistent messages in durable queues that the message log does not have, unacknowledged ones included. Visits
    /// each message.
    pub fn unlogged_message_count(&self) -> u64 {
        self.parts.unlogged_message_count()
    }
}
