//! The consumers and channels of the plain model: which consumers can take a message, and which of them is next.

use std::collections::BTreeMap;

use super::super::*;
use super::plain::{Delivered, Plain};
use crate::stats::QueueStats;

#[derive(Clone, Debug)]
pub(super) struct PlainConsumer {
    pub(super) tag: String,
    pub(super) channel: usize,
    pub(super) queue: &'static str,
    pub(super) no_ack: bool,
    pub(super) exclusive: bool,
    pub(super) prefetch: usize,
    pub(super) priority: i32,
    /// The turn in which the consumer got its last message, or came.
    pub(super) turn: u64,
    /// The last turn after which the consumer could not take a message.
    pub(super) unable_in: u64,
}

#[derive(Debug)]
pub(super) struct PlainChannel {
    pub(super) connection: ConnectionId,
    pub(super) unacked: BTreeMap<u64, Delivered>,
    /// Deliveries that a transaction settles, with their tags.
    pub(super) held: Vec<(u64, Delivered)>,
    pub(super) last_tag: u64,
    pub(super) prefetch: usize,
    pub(super) consumer_prefetch: usize,
    pub(super) is_flowing: bool,
    pub(super) stats: QueueStats,
}

impl PlainChannel {
    pub(super) fn new(connection: ConnectionId) -> PlainChannel {
        PlainChannel {
            connection,
            unacked: BTreeMap::new(),
            held: Vec::new(),
            last_tag: 0,
            prefetch: usize::MAX,
            consumer_prefetch: usize::MAX,
            is_flowing: true,
            stats: QueueStats::default(),
        }
    }

    /// All deliveries that are not settled.
    pub(super) fn deliveries(&self) -> impl Iterator<Item = &Delivered> {
        self.unacked.values().chain(self.held.iter().map(|(_, delivered)| delivered))
    }

    /// Counts deliveries that are settled; `requeue` is `None` for acknowledgements.
    pub(super) fn count_settled(&mut self, count: usize, requeue: Option<bool>) {
        self.stats.ack += if requeue.is_none() { count as u64 } else { 0 };
    }

    /// Takes the delivery with that tag, or all up to it.
    pub(super) fn take(&mut self, tag: u64, multiple: bool) -> Vec<(u64, Delivered)> {
        let first = if multiple { 0 } else { tag };
        self.unacked.extract_if(first..=tag, |_, _| true).collect()
    }
}

impl Plain {
    /// The answer to a new consumer.
    pub(super) fn permits(&self, consumer: &PlainConsumer) -> Result<(), ReplyCode> {
        self.access(consumer.queue, self.channels[&consumer.channel].connection)?;
        let others: Vec<_> = self.consumers.iter().filter(|other| other.queue == consumer.queue).collect();
        let is_shared = !others.is_empty() || self.queues[consumer.queue].rules.single_active;
        let is_taken = others.iter().any(|other| other.exclusive) || consumer.exclusive && is_shared;
        if is_taken { Err(ReplyCode::AccessRefused) } else { Ok(()) }
    }

    pub(super) fn add_consumer(&mut self, mut consumer: PlainConsumer) {
        let queue = self.queues.get_mut(consumer.queue).expect("a queue that permits consumers");
        queue.used_at = self.now;
        if queue.rules.single_active && queue.active.is_none() {
            queue.active = Some(consumer.tag.clone());
        }
        self.turn += 1;
        consumer.turn = self.turn;
        self.consumers.push(consumer);
    }

    /// Takes consumers out. Returns the queues that go with their last consumer.
    pub(super) fn remove_consumers(&mut self, goes: impl Fn(&PlainConsumer) -> bool) -> Vec<&'static str> {
        let gone: Vec<PlainConsumer> = self.consumers.extract_if(.., |consumer| goes(consumer)).collect();
        let mut unused = Vec::new();
        for PlainConsumer { tag, queue: name, .. } in gone {
            let left: Vec<_> = self.consumers.iter().filter(|consumer| consumer.queue == name).collect();
            let queue = self.queues.get_mut(name).expect("a queue of a consumer");
            if queue.active == Some(tag) {
                let highest = left.iter().map(|consumer| consumer.priority).max();
                let next = left.iter().find(|consumer| Some(consumer.priority) == highest);
                queue.active = next.map(|next| next.tag.clone());
            }
            if left.is_empty() {
                queue.used_at = self.now;
                unused.extend(queue.rules.auto_delete.then_some(name));
            }
        }
        unused
    }

    /// Closes the channel: its deliveries return.
    pub(super) fn close(&mut self, number: usize) {
        let unused = self.remove_consumers(|consumer| consumer.channel == number);
        let mut channel = self.channels.remove(&number).expect("an open channel");
        channel.unacked.extend(channel.held);
        channel.unacked.into_values().for_each(|delivered| self.settle(delivered, Some(true)));
        unused.into_iter().for_each(|name| drop(self.delete(name)));
    }

    /// Closes the connection, and deletes its queues.
    pub(super) fn disconnect(&mut self, connection: ConnectionId) {
        let channels = self.channels.iter().filter(|(_, channel)| channel.connection == connection);
        let channels: Vec<usize> = channels.map(|(number, _)| *number).collect();
        channels.into_iter().for_each(|number| self.close(number));
        let owned = self.queues.iter().filter(|(_, queue)| queue.owner == Some(connection));
        let owned: Vec<&str> = owned.map(|(name, _)| *name).collect();
        owned.into_iter().for_each(|name| drop(self.delete(name)));
        self.rooms.remove(&connection);
    }

    fn can_take(&self, consumer: &PlainConsumer) -> bool {
        let channel = &self.channels[&consumer.channel];
        let own = |delivered: &&Delivered| delivered.consumer.as_ref() == Some(&consumer.tag);
        let all = |delivered: &&Delivered| delivered.consumer.is_some();
        let has_credit = channel.deliveries().filter(all).count() < channel.prefetch
            && (consumer.no_ack || channel.deliveries().filter(own).count() < consumer.prefetch);
        has_credit && channel.is_flowing && self.rooms.get(&channel.connection) != Some(&0)
    }

    /// The consumers of a queue that can take a message now.
    pub(super) fn able(&self, name: &str) -> Vec<&PlainConsumer> {
        let Some(queue) = self.queues.get(name) else { return Vec::new() };
        let is_active = |tag| !queue.rules.single_active || queue.active.as_ref() == Some(tag);
        let all = self.consumers.iter().filter(|consumer| consumer.queue == name && is_active(&consumer.tag));
        all.filter(|consumer| self.can_take(consumer)).collect()
    }

    /// Returns true if it may be the turn of this consumer. The consumer is able, and no able consumer has a higher priority. No
    /// able consumer of the same priority has certainly waited longer.
    ///
    /// A consumer that was not able for a while may have kept its place, or may have lost it and returned as the last.
    pub(super) fn may_be_next(&self, consumer: &PlainConsumer) -> bool {
        let able = self.able(consumer.queue);
        let waits_longer = |other: &PlainConsumer| other.turn.max(other.unable_in) < consumer.turn;
        able.iter().any(|other| other.tag == consumer.tag)
            && able.iter().all(|other| other.priority <= consumer.priority)
            && !able.iter().any(|other| other.priority == consumer.priority && waits_longer(other))
    }

    /// Notes the consumers that cannot take a message now.
    pub(super) fn note_unable(&mut self) {
        let is_able: Vec<bool> = self.consumers.iter().map(|consumer| self.can_take(consumer)).collect();
        for (consumer, is_able) in self.consumers.iter_mut().zip(is_able) {
            if !is_able {
                consumer.unable_in = self.turn;
            }
        }
    }
}
