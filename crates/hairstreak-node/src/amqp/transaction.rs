//! `Transaction`: the publishes and settlements of a channel since tx.select or the last commit.
//!
//! Each message is examined and routed when it is published. A commit puts the messages into the queues in order, and settles
//! then. A rollback forgets both: the messages were never published, and the deliveries are still to be settled.

use std::vec;

use hairstreak_broker::message::{Attributes, Message};
use hairstreak_broker::queue::Durability;
use hairstreak_broker::vhost::{NamedRoute, Settlement};

use super::body::WholeBody;
use super::publish::Publish;

/// The open transaction of a channel.
#[derive(Default)]
pub(super) struct Transaction {
    publishes: Vec<PendingPublish>,
    /// Number of deliveries in each settlement, and the settlement. The virtual host holds the deliveries.
    settlements: Vec<(usize, Settlement)>,
    bytes: usize,
}

/// A message that its queues get with the commit.
pub(super) struct PendingPublish {
    pub publish: Publish,
    pub properties: Box<[u8]>,
    pub attributes: Attributes,
    pub body: WholeBody,
    pub route: NamedRoute,
}

/// A transaction that is being committed, in more than one turn if it is large.
pub(super) struct Committing {
    /// The number of the channel.
    pub channel: u16,
    pub publishes: vec::IntoIter<PendingPublish>,
    pub settlements: vec::IntoIter<(usize, Settlement)>,
    /// Each queue has taken its messages so far.
    pub is_complete: bool,
    /// The strictest durability of the messages so far.
    pub durability: Durability,
}

impl PendingPublish {
    pub fn message(&self) -> Message<'_> {
        let fields = self.publish.fields();
        Message {
            exchange: fields.exchange,
            routing_key: fields.routing_key,
            properties: &self.properties,
            attributes: self.attributes,
            body: self.body.view(),
        }
    }

    fn memory_bytes(&self) -> usize {
        let content = self.body.view().as_bytes().len() + self.properties.len();
        content + self.route.memory_bytes() + size_of::<PendingPublish>()
    }
}

impl Transaction {
    /// A message joins the transaction. Returns how many bytes it has.
    pub fn add_publish(&mut self, pending: PendingPublish) -> usize {
        let size = pending.memory_bytes();
        self.bytes += size;
        self.publishes.push(pending);
        size
    }

    /// `count` deliveries are held, and settled with the commit.
    pub fn add_settlement(&mut self, count: usize, settlement: Settlement) {
        if count > 0 {
            self.settlements.push((count, settlement));
        }
    }

    /// Bytes of the messages that it holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes everything; the transaction is empty then.
    pub fn take(&mut self) -> (Vec<PendingPublish>, Vec<(usize, Settlement)>) {
        self.bytes = 0;
        (std::mem::take(&mut self.publishes), std::mem::take(&mut self.settlements))
    }
}
