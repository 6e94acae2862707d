//! `Consumer` and `Consumers`: who takes messages from queues.

use hairstreak_wire::amqp::EncodedTable;
use slab::Slab;

use super::kind::QueueId;
use crate::steps::visit_slice;
use crate::vhost::{ChannelId, ConsumerId, Recipient};

/// State of a consumer in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The consumer is in the rotation of the queue. A consumer whose credit is used up stays there until its next turn.
    InTurn,
    /// Without credit: the consumer has this place in its channel's list of stalled consumers.
    Stalled(u32),
    /// Another consumer is the single active one.
    Waiting,
    /// The consumer is cancelled, and has unacknowledged deliveries.
    Cancelled,
}

/// A consumer.
#[derive(Debug)]
pub(crate) struct Consumer {
    pub(crate) recipient: Recipient,
    pub(crate) channel: ChannelId,
    pub(crate) queue: QueueId,
    pub(crate) no_ack: bool,
    pub(crate) is_exclusive: bool,
    pub(crate) standing: Standing,
    /// The first stall of the channel since which the consumer has taken no message; 0 if the consumer has taken one since its last stall.
    pub(crate) waits_since: u64,
    /// Maximum number of unacknowledged deliveries.
    pub(crate) prefetch: u32,
    pub(crate) unacknowledged: u32,
    pub(crate) priority: i64,
    pub(crate) arguments: EncodedTable,
}

impl Consumer {
    /// The memory of the consumer, in bytes.
    fn memory_bytes(&self) -> usize {
        size_of::<Consumer>() + self.recipient.consumer_tag.len() + self.arguments.size()
    }
}

/// All consumers of a virtual host. A number stays taken until the deliveries of its consumer are settled.
#[derive(Debug, Default)]
pub(crate) struct Consumers {
    slab: Slab<Consumer>,
    memory_bytes: usize,
}

impl Consumers {
    pub(crate) fn new() -> Consumers {
        Consumers::default()
    }

    /// Adds a consumer. Its recipient gets the consumer's number.
    pub(crate) fn add(&mut self, consumer: Consumer) -> ConsumerId {
        self.memory_bytes += consumer.memory_bytes();
        let entry = self.slab.vacant_entry();
        let id = ConsumerId(entry.key() as u32);
        entry.insert(consumer).recipient.consumer = id;
        id
    }

    /// The memory of the consumers, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Visits the consumers at some positions, as [`visit_slice`] does.
    pub(crate) fn visit(
        &self,
        from: usize,
        count_max: usize,
        mut visit: impl FnMut(&Consumer),
    ) -> Option<usize> {
        visit_slice(&self.slab, from, count_max, |_, consumer| visit(consumer))
    }

    #[inline]
    pub(crate) fn get(&self, id: ConsumerId) -> &Consumer {
        &self.slab[id.0 as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: ConsumerId) -> &mut Consumer {
        &mut self.slab[id.0 as usize]
    }

    /// Cancels the consumer. Its number is free once all its deliveries are settled.
    pub(crate) fn cancel(&mut self, id: ConsumerId) {
        let consumer = self.get_mut(id);
        consumer.standing = Standing::Cancelled;
        if consumer.unacknowledged == 0 {
            self.remove(id);
        }
    }

    fn remove(&mut self, id: ConsumerId) {
        self.memory_bytes -= self.slab.remove(id.0 as usize).memory_bytes();
    }

    /// Deliveries of the consumer are settled. Returns whether the consumer is stalled.
    #[inline]
    pub(crate) fn settle(&mut self, id: ConsumerId, count: u32) -> bool {
        let consumer = self.get_mut(id);
        consumer.unacknowledged -= count;
        match consumer.standing {
            Standing::InTurn | Standing::Waiting => false,
            Standing::Stalled(_) => true,
            Standing::Cancelled => {
                if consumer.unacknowledged == 0 {
                    self.remove(id);
                }
                false
            }
        }
    }
}
