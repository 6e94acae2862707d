//! `Channels`: the connections of a virtual host and their channels.

use std::collections::VecDeque;

use hairstreak_wire::amqp::ReplyCode;
use slab::Slab;

use super::outbox::{ChannelId, ConnectionId, ConsumerId};
use super::publishing::Outcome;
use super::unacked::{Unacked, UnackedRing};
use crate::message::MessageId;
use crate::queue::QueueId;
use crate::refusal::Refusal;
use crate::stats::ChannelStats;
use crate::steps::visit_slice;
use crate::view::ChannelInfo;

/// The modes that the client has asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelMode {
    /// Confirms of published messages.
    pub is_confirming: bool,
    /// Transactions.
    pub is_transactional: bool,
}

/// A channel.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) connection: ConnectionId,
    pub(super) number: u16,
    /// The prefetch count of consumers to come; `u32::MAX`: no limit.
    pub(super) consumer_prefetch: u32,
    /// The prefetch count of all consumers together.
    pub(super) prefetch: u32,
    /// Unacknowledged deliveries of consumers.
    pub(super) delivered: u32,
    pub(super) is_flowing: bool,
    pub(super) mode: ChannelMode,
    next_tag: u64,
    /// The counters without `deliver` and `deliver_no_ack`.
    pub(super) counted: ChannelStats,
    /// Deliveries that were settled without an acknowledgement.
    pub(super) returned_count: u64,
    /// Tags that no counter has: direct replies.
    reply_count: u64,
    unacked: UnackedRing,
    /// Deliveries that a transaction settles when it is committed, in the order of the settlements.
    held: VecDeque<Unacked>,
    pub(super) consumers: Vec<ConsumerId>,
    /// Consumers without credit.
    pub(super) stalled: Vec<ConsumerId>,
    /// The number of times that a consumer has stalled.
    pub(super) stall_count: u64,
    pub(super) reply_consumer: Option<ReplyConsumer>,
    /// The outcome of a message that took more than one call.
    pub(super) outcome: Option<Box<Outcome>>,
}

impl Channel {
    /// Returns true if all consumers together have a prefetch count.
    #[inline]
    pub(super) fn has_prefetch(&self) -> bool {
        self.prefetch != u32::MAX
    }

    /// The last delivery tag.
    pub(super) fn last_tag(&self) -> u64 {
        self.next_tag
    }

    /// The next delivery tag.
    #[inline]
    pub(super) fn take_tag(&mut self) -> u64 {
        self.next_tag += 1;
        self.next_tag
    }

    /// The last delivery was a direct reply, which no counter has, as in RabbitMQ.
    pub(super) fn note_reply(&mut self) {
        self.reply_count += 1;
    }

    /// Returns the counters. The deliveries are computed from the tags, from the settled deliveries and from the unsettled ones.
    pub(super) fn stats(&self) -> ChannelStats {
        let mut stats = self.counted;
        let messages = &mut stats.messages;
        let unsettled = (self.unacked.count() + self.held.len()) as u64;
        messages.deliver = unsettled + messages.ack + self.returned_count - messages.get;
        messages.deliver_no_ack = self.next_tag - self.reply_count - messages.deliver_get();
        stats
    }

    /// The memory of the deliveries that are not settled, in bytes.
    #[inline]
    fn delivery_bytes(&self) -> usize {
        self.unacked.memory_bytes() + self.held.capacity() * size_of::<Unacked>()
    }

    /// The deliveries that a transaction settles when it is committed.
    pub(super) fn held(&self) -> impl ExactSizeIterator<Item = &Unacked> {
        self.held.iter()
    }

    /// Returns the unsettled deliveries of the channel.
    #[inline]
    pub(super) fn unacked(&self) -> &UnackedRing {
        &self.unacked
    }
}

/// The consumer of direct replies.
#[derive(Debug)]
pub(super) struct ReplyConsumer {
    pub(super) consumer: ConsumerId,
    /// The routing key of replies.
    pub(super) address: Box<[u8]>,
}

/// A connection.
#[derive(Debug, Default)]
pub(super) struct Connection {
    /// True if the connection takes no more deliveries now.
    pub(super) is_full: bool,
    pub(super) channels: Vec<ChannelId>,
    pub(super) exclusive_queues: Vec<QueueId>,
    /// Chores that the connection waits for.
    pub(super) chore_count: usize,
}

/// The connections and channels of a virtual host.
#[derive(Debug, Default)]
pub struct Channels {
    channels: Slab<Channel>,
    connections: Vec<Connection>,
    /// The memory of all deliveries that are not settled, in bytes.
    delivery_bytes: usize,
}

impl Channels {
    pub(super) fn new() -> Channels {
        Channels::default()
    }

    /// The number of channels.
    pub fn count(&self) -> usize {
        self.channels.len()
    }

    /// A channel that is open.
    pub fn info(&self, id: ChannelId) -> Option<ChannelInfo> {
        self.find(id).map(|channel| channel_info(id, channel))
    }

    /// Appends the channels at up to `count_max` positions. Returns the position to go on from; `None` at the end.
    pub fn infos(&self, from: usize, count_max: usize, into: &mut Vec<ChannelInfo>) -> Option<usize> {
        visit_slice(&self.channels, from, count_max, |id, channel| {
            into.push(channel_info(ChannelId(id as u32), channel));
        })
    }

    /// The address that replaces the property reply-to `amq.rabbitmq.reply-to` of a message that this channel publishes.
    ///
    /// # Errors
    ///
    /// The channel has no reply consumer: `PRECONDITION_FAILED`.
    pub fn reply_address(&self, id: ChannelId) -> Result<&[u8], Refusal> {
        match &self.get(id).reply_consumer {
            Some(reply) => Ok(&reply.address),
            None => Err(Refusal::new(ReplyCode::PreconditionFailed, "fast reply consumer does not exist")),
        }
    }

    /// Sets the modes that the client of an open channel has asked for.
    pub fn set_mode(&mut self, id: ChannelId, mode: ChannelMode) {
        self.get_mut(id).mode = mode;
    }

    /// Takes the outcome of a message that an open channel has published slowly.
    #[inline]
    pub fn take_outcome(&mut self, id: ChannelId) -> Option<Box<Outcome>> {
        self.get_mut(id).outcome.take()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let tables = self.channels.capacity() * size_of::<Channel>()
            + self.connections.capacity() * size_of::<Connection>();
        self.delivery_bytes + tables
    }

    pub(super) fn open(&mut self, connection: ConnectionId, number: u16) -> ChannelId {
        let channel = Channel {
            connection,
            number,
            consumer_prefetch: u32::MAX,
            prefetch: u32::MAX,
            delivered: 0,
            is_flowing: true,
            mode: ChannelMode::default(),
            next_tag: 0,
            counted: ChannelStats::default(),
            returned_count: 0,
            reply_count: 0,
            unacked: UnackedRing::default(),
            held: VecDeque::new(),
            consumers: Vec::new(),
            stalled: Vec::new(),
            stall_count: 0,
            reply_consumer: None,
            outcome: None,
        };
        let id = ChannelId(self.channels.insert(channel) as u32);
        self.connection_mut(connection).channels.push(id);
        id
    }

    /// Removes a channel. All its deliveries are settled.
    pub(super) fn close(&mut self, id: ChannelId) {
        let channel = self.channels.remove(id.0 as usize);
        self.delivery_bytes -= channel.delivery_bytes();
        self.connection_mut(channel.connection).channels.retain(|other| *other != id);
    }

    /// Forgets a connection without channels.
    pub(super) fn close_connection(&mut self, id: ConnectionId) {
        *self.connection_mut(id) = Connection::default();
    }

    /// A channel that is open.
    pub(super) fn find(&self, id: ChannelId) -> Option<&Channel> {
        self.channels.get(id.0 as usize)
    }

    #[inline]
    pub(super) fn get(&self, id: ChannelId) -> &Channel {
        &self.channels[id.0 as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: ChannelId) -> &mut Channel {
        &mut self.channels[id.0 as usize]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Channel> {
        self.channels.iter().map(|(_, channel)| channel)
    }

    /// A connection that has, or had, something to do with the host.
    pub(super) fn find_connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.connections.get(id.0 as usize)
    }

    /// Returns true if the connection takes no more deliveries now. The connection has, or had, a channel.
    #[inline]
    pub(super) fn is_full(&self, id: ConnectionId) -> bool {
        self.connections[id.0 as usize].is_full
    }

    pub(super) fn connection_mut(&mut self, id: ConnectionId) -> &mut Connection {
        let index = id.0 as usize;
        if index >= self.connections.len() {
            self.connections.resize_with(index + 1, Connection::default);
        }
        &mut self.connections[index]
    }

    /// The channel has one delivery more to settle.
    #[inline]
    pub(super) fn push_unacked(&mut self, id: ChannelId, unacked: Unacked) {
        let ring = &mut self.channels[id.0 as usize].unacked;
        if ring.has_room() {
            ring.push(unacked);
        } else {
            self.change_deliveries(id, |channel| channel.unacked.push(unacked));
        }
    }

    /// Takes the delivery with that tag.
    #[inline]
    pub(super) fn take_unacked(&mut self, id: ChannelId, tag: u64) -> Option<Unacked> {
        self.change_deliveries(id, |channel| channel.unacked.take(tag))
    }

    /// Takes the first delivery if its tag is at most `last`.
    #[inline]
    pub(super) fn take_first_unacked(&mut self, id: ChannelId, last: u64) -> Option<Unacked> {
        self.change_deliveries(id, |channel| channel.unacked.take_first(last))
    }

    /// Takes the first deliveries of one queue to one consumer out, as [`UnackedRing::take_first_run`] does.
    #[inline]
    pub(super) fn take_first_run(
        &mut self,
        id: ChannelId,
        last: u64,
        messages: &mut Vec<MessageId>,
    ) -> Option<(QueueId, Option<ConsumerId>)> {
        self.change_deliveries(id, |channel| channel.unacked.take_first_run(last, messages))
    }

    /// Takes the delivery with that tag, or with `multiple` all up to the tag, for a transaction. Returns their number. The
    /// channel has the tag.
    pub(super) fn hold(&mut self, id: ChannelId, tag: u64, multiple: bool) -> usize {
        let mut taken = Vec::new();
        if multiple {
            let last = if tag == 0 { u64::MAX } else { tag };
            taken.extend(std::iter::from_fn(|| self.take_first_unacked(id, last)));
        } else {
            taken.extend(self.take_unacked(id, tag));
        }
        let count = taken.len();
        self.change_deliveries(id, |channel| channel.held.extend(taken));
        count
    }

    /// The first `count` of the deliveries that are held.
    pub(super) fn take_held(&mut self, id: ChannelId, count: usize) -> Vec<Unacked> {
        self.change_deliveries(id, |channel| {
            let held = &mut channel.held;
            let taken = held.drain(..count.min(held.len())).collect();
            if held.is_empty() {
                *held = VecDeque::new();
            }
            taken
        })
    }

    /// Makes the held deliveries unsettled again. Returns the number of moved deliveries.
    pub(super) fn release_held(&mut self, id: ChannelId) -> usize {
        let held = self.take_held(id, usize::MAX);
        held.len() + self.change_deliveries(id, |channel| channel.unacked.put_back(held))
    }

    /// Changes the deliveries of a channel, and counts their memory.
    #[inline]
    fn change_deliveries<T>(&mut self, id: ChannelId, change: impl FnOnce(&mut Channel) -> T) -> T {
        let channel = &mut self.channels[id.0 as usize];
        let before = channel.delivery_bytes();
        let result = change(channel);
        self.delivery_bytes = self.delivery_bytes + channel.delivery_bytes() - before;
        result
    }
}

fn channel_info(id: ChannelId, channel: &Channel) -> ChannelInfo {
    ChannelInfo {
        id,
        connection: channel.connection,
        number: channel.number,
        consumer_count: channel.consumers.len(),
        unacknowledged: channel.unacked().count(),
        uncommitted_acks: channel.held().count(),
        prefetch_count: shown_prefetch(channel.consumer_prefetch),
        global_prefetch_count: shown_prefetch(channel.prefetch),
        is_flowing: channel.is_flowing,
        is_confirming: channel.mode.is_confirming,
        is_transactional: channel.mode.is_transactional,
        stats: channel.stats(),
    }
}

/// A prefetch count as clients set it: 0 is no limit.
pub(super) fn shown_prefetch(count: u32) -> u32 {
    if count == u32::MAX { 0 } else { count }
}
