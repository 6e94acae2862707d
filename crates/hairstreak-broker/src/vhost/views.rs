//! `Views`: what operators see of a virtual host, item by item or in slices.
//!
//! Listings take a cursor: 0 at first, then what the last call returned, until that is `None`. Between two calls the caller
//! may release the host to others. An item that is there all the time is listed once. A call visits `count_max` positions
//! of the table at most, some of which may be empty.

use hairstreak_wire::amqp::{FieldTable, Properties, ReplyCode};

use super::channels::Channel;
use super::outbox::{ChannelId, ConnectionId, ConsumerId};
use super::parts::Parts;
use crate::message::MessageView;
use crate::queue::{Consumer, Entry, NEVER, Queue, QueueId, QueueKind, Standing};
use crate::refusal::Refusal;
use crate::stats::HostStats;
use crate::view::{BindingInfo, ChannelInfo, ConsumerInfo, ExchangeInfo, PeekInfo, QueueInfo, QueuePolicies};

/// How many deliveries of a channel are looked at for the first one of a queue.
const HEAD_DELIVERIES_MAX: usize = 64;

/// A virtual host as operators see it.
#[derive(Clone, Copy)]
pub struct Views<'a> {
    pub(super) parts: &'a Parts,
}

/// Queues and consumers.
impl Views<'_> {
    /// How many queues there are.
    pub fn queue_count(&self) -> usize {
        self.parts.queues.count()
    }

    /// The queue of that name.
    pub fn queue(&self, name: &[u8]) -> Option<QueueInfo> {
        let id = self.parts.queues.find(name)?;
        Some(self.queue_info(id, self.parts.queues.get(id)))
    }

    /// The settings of the policies that apply to a queue, merged. `None`: there is no such queue.
    pub fn effective_policy(&self, queue: &[u8]) -> Option<FieldTable> {
        Some(self.parts.queues.get(self.parts.queues.find(queue)?).policies.effective())
    }

    /// Appends queues; the cursor: see the module.
    pub fn queue_infos(&self, from: usize, count_max: usize, into: &mut Vec<QueueInfo>) -> Option<usize> {
        self.parts.queues.visit(from, count_max, |id, queue| into.push(self.queue_info(id, queue)))
    }

    /// Refuses a connection that a queue is locked for, as a request of the connection is refused.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND`, `RESOURCE_LOCKED`.
    pub fn check_access(&self, user: ConnectionId, queue: &[u8]) -> Result<(), Refusal> {
        self.parts.find_queue(user, queue).map(drop)
    }

    /// Shows messages that wait, in the order in which they are delivered, to `take`: at most `count_max` behind the first
    /// `offset`. Nothing changes. Returns how many were shown; `None`: there is no such queue.
    pub fn peek(
        &self,
        queue: &[u8],
        offset: usize,
        count_max: usize,
        mut take: impl FnMut(&MessageView<'_>, PeekInfo),
    ) -> Option<usize> {
        let Parts { queues, store, .. } = self.parts;
        let waiting = queues.get(queues.find(queue)?).ready.iter_behind(offset).take(count_max);
        let mut count = 0;
        for entry in waiting {
            let info = PeekInfo {
                position: offset + count,
                return_count: entry.return_count,
                priority: entry.priority,
                is_persistent: store.is_persistent(entry.message),
                expires_at: (entry.expires_at != NEVER).then_some(entry.expires_at),
            };
            take(&store.view(entry.message), info);
            count += 1;
        }
        Some(count)
    }

    /// How many consumers of queues there are.
    pub fn consumer_count(&self) -> usize {
        self.parts.queues.iter().map(|queue| queue.consumers.len()).sum()
    }

    /// Appends consumers of queues; the cursor: see the module.
    pub fn consumer_infos(
        &self,
        from: usize,
        count_max: usize,
        into: &mut Vec<ConsumerInfo>,
    ) -> Option<usize> {
        self.parts.consumers.visit(from, count_max, |consumer| into.extend(self.consumer_info(consumer)))
    }

    /// The consumers of a queue, in the order in which they came. A queue that does not exist has none.
    pub fn consumers_of_queue(&self, queue: &[u8]) -> Vec<ConsumerInfo> {
        let queue = self.parts.queues.find(queue).map(|id| self.parts.queues.get(id));
        let consumers = queue.into_iter().flat_map(|queue| &queue.consumers);
        consumers.filter_map(|id| self.consumer_info(self.parts.consumers.get(*id))).collect()
    }

    fn queue_info(&self, id: QueueId, queue: &Queue) -> QueueInfo {
        let declaration = &queue.declaration;
        let tag = |id: ConsumerId| self.parts.consumers.get(id).recipient.consumer_tag.clone();
        let exclusive =
            queue.consumers.first().filter(|first| self.parts.consumers.get(**first).is_exclusive);
        QueueInfo {
            name: declaration.name.clone(),
            is_durable: declaration.is_durable,
            is_exclusive: declaration.is_exclusive,
            is_auto_delete: declaration.is_auto_delete,
            arguments: declaration.arguments.clone(),
            kind: queue.kind,
            owner: queue.owner,
            ready: queue.ready.count() as u64,
            unacknowledged: queue.unacknowledged,
            ready_bytes: queue.ready.body_bytes(),
            unacknowledged_bytes: queue.unacknowledged_bytes,
            consumer_count: queue.consumers.len(),
            capacity: queue.capacity,
            single_active_consumer: queue.active().map(tag),
            exclusive_consumer: exclusive.copied().map(tag),
            policies: QueuePolicies {
                user: queue.policies.user_name(),
                operator: queue.policies.operator_name(),
                effective: queue.policies.effective(),
            },
            head_timestamp: self.head_timestamp(id, queue),
            stats: queue.stats(),
            used_at: queue.used_at,
            memory_bytes: queue.memory_bytes(),
        }
    }

    /// The earlier of the timestamps of the first message that waits, and of the first that a consumer has. Where a channel has deliveries of many queues, only
    /// the first [`HEAD_DELIVERIES_MAX`] of them are looked at.
    fn head_timestamp(&self, id: QueueId, queue: &Queue) -> Option<u64> {
        let Parts { consumers, channels, store, .. } = self.parts;
        let first_of = |consumer: &ConsumerId| {
            let unacked = channels.get(consumers.get(*consumer).channel).unacked();
            unacked
                .iter()
                .take(HEAD_DELIVERIES_MAX)
                .find(|unacked| unacked.queue == id)
                .map(|unacked| &unacked.entry)
        };
        let delivered = queue.consumers.iter().filter_map(first_of).min_by_key(|entry| entry.sequence);
        let timestamp_of = |entry: &Entry| {
            // Stored properties were decoded when the message was published.
            Properties::decode_flat(store.view(entry.message).properties).ok()?.0.timestamp
        };
        queue.ready.front().into_iter().chain(delivered).filter_map(timestamp_of).min()
    }

    /// The consumer of a queue. Consumers of direct replies have none.
    fn consumer_info(&self, consumer: &Consumer) -> Option<ConsumerInfo> {
        if consumer.standing == Standing::Cancelled || consumer.queue == QueueId(u32::MAX) {
            return None;
        }
        let queue = self.parts.queues.get(consumer.queue);
        let recipient = &consumer.recipient;
        Some(ConsumerInfo {
            tag: recipient.consumer_tag.clone(),
            queue: queue.declaration.name.clone(),
            channel: consumer.channel,
            connection: recipient.connection,
            channel_number: recipient.channel_number,
            no_ack: consumer.no_ack,
            is_exclusive: consumer.is_exclusive,
            prefetch_count: shown_prefetch(consumer.prefetch),
            arguments: consumer.arguments.clone(),
            is_active: consumer.standing != Standing::Waiting,
            is_of_single_active: queue.is_single_active(),
            unacknowledged: consumer.unacknowledged,
        })
    }
}

/// Counters, and channels.
impl Views<'_> {
    /// The counters of the host. Visits each queue.
    pub fn stats(&self) -> HostStats {
        let queues = &self.parts.queues;
        HostStats {
            classic: queues.stats(QueueKind::Classic),
            quorum: queues.stats(QueueKind::Quorum),
            ..self.parts.counted
        }
    }

    /// How many channels there are.
    pub fn channel_count(&self) -> usize {
        self.parts.channels.count()
    }

    /// A channel that is open.
    pub fn channel(&self, id: ChannelId) -> Option<ChannelInfo> {
        self.parts.channels.find(id).map(|channel| channel_info(id, channel))
    }

    /// Appends channels; the cursor: see the module.
    pub fn channel_infos(&self, from: usize, count_max: usize, into: &mut Vec<ChannelInfo>) -> Option<usize> {
        self.parts.channels.visit(from, count_max, |id, channel| into.push(channel_info(id, channel)))
    }
}

/// Progress.
impl<'a> Views<'a> {
    /// Whether the connection has ordered something that takes more than one call and is not done. It is woken at the end. Until then it sends no answers, and
    /// asks for nothing more.
    #[inline]
    pub fn has_to_wait(&self, connection: ConnectionId) -> bool {
        !self.parts.chores.is_empty()
            && self.parts.channels.find_connection(connection).is_some_and(|of| of.chore_count > 0)
    }

    /// The steps of all calls so far. A step is about what a queue entry costs.
    #[inline]
    pub fn step_count(&self) -> u64 {
        self.parts.steps.done()
    }

    /// The address that replaces the property reply-to `amq.rabbitmq.reply-to` of a message that this channel publishes.
    ///
    /// # Errors
    ///
    /// The channel has no reply consumer: `PRECONDITION_FAILED`.
    pub fn reply_address(&self, channel: ChannelId) -> Result<&'a [u8], Refusal> {
        match &self.parts.channels.get(channel).reply_consumer {
            Some(reply) => Ok(&reply.address),
            None => {
                let text = "fast reply consumer does not exist";
                Err(Refusal::new(ReplyCode::PreconditionFailed, text))
            }
        }
    }
}

/// Exchanges and bindings.
impl Views<'_> {
    /// How many exchanges there are, the default exchange included.
    pub fn exchange_count(&self) -> usize {
        self.parts.exchanges.listing().exchange_count() + 1
    }

    /// The exchange of that name; an empty name: the default exchange.
    pub fn exchange(&self, name: &[u8]) -> Option<ExchangeInfo> {
        self.parts.exchanges.listing().info(name)
    }

    /// Appends exchanges, the default exchange first; the cursor: see the module.
    pub fn exchange_infos(
        &self,
        from: usize,
        count_max: usize,
        into: &mut Vec<ExchangeInfo>,
    ) -> Option<usize> {
        self.parts.exchanges.listing().infos(from, count_max, into)
    }

    /// How many bindings there are, without those of the default exchange.
    pub fn binding_count(&self) -> usize {
        self.parts.exchanges.listing().binding_count()
    }

    /// Appends bindings, without those of the default exchange; the cursor: see the module.
    pub fn binding_infos(&self, from: usize, count_max: usize, into: &mut Vec<BindingInfo>) -> Option<usize> {
        self.parts.exchanges.listing().binding_infos(from, count_max, into)
    }

    /// Whether a binding is there.
    pub fn is_bound(&self, binding: &BindingInfo) -> bool {
        let queue = self.parts.queues.find(&binding.destination);
        self.parts.exchanges.listing().has(binding, queue)
    }

    /// Appends the bindings from an exchange.
    pub fn bindings_from(
        &self,
        exchange: &[u8],
        from: usize,
        count_max: usize,
        into: &mut Vec<BindingInfo>,
    ) -> Option<usize> {
        self.parts.exchanges.listing().bindings_from(exchange, from, count_max, into)
    }

    /// Appends the bindings to an exchange.
    pub fn bindings_to_exchange(
        &self,
        exchange: &[u8],
        from: usize,
        count_max: usize,
        into: &mut Vec<BindingInfo>,
    ) -> Option<usize> {
        self.parts.exchanges.listing().bindings_to_exchange(exchange, from, count_max, into)
    }

    /// Appends the bindings to a queue, without that of the default exchange.
    pub fn bindings_to_queue(
        &self,
        queue: &[u8],
        from: usize,
        count_max: usize,
        into: &mut Vec<BindingInfo>,
    ) -> Option<usize> {
        let queue = self.parts.queues.find(queue)?;
        self.parts.exchanges.listing().bindings_to_queue(queue, from, count_max, into)
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
fn shown_prefetch(count: u32) -> u32 {
    if count == u32::MAX { 0 } else { count }
}
