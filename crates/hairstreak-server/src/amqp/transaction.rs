//! `Transaction`: what a channel has published and settled since tx.select or the last commit.
//!
//! A commit publishes the messages in order and settles then. A rollback forgets both: the messages were never published, and the deliveries are
//! still to be settled.

use hairstreak_broker::vhost::Settlement;

use super::body::WholeBody;
use super::publish::{Publish, PublishFields};

/// The open transaction of a channel.
#[derive(Default)]
pub(super) struct Transaction {
    publishes: Vec<PendingPublish>,
    /// How many deliveries each settlement has, and how they are settled. The virtual host holds the deliveries.
    settlements: Vec<(usize, Settlement)>,
    bytes: usize,
}

/// A message that is published with the commit.
pub(super) struct PendingPublish {
    pub publish: Publish,
    pub properties: Box<[u8]>,
    pub body: WholeBody,
}

impl Transaction {
    /// A message joins the transaction. Returns how many bytes it has.
    pub fn add_publish(&mut self, fields: &PublishFields<'_>, properties: &[u8], body: WholeBody) -> usize {
        let size = body.view().as_bytes().len() + properties.len() + size_of::<PendingPublish>();
        self.bytes += size;
        let publish = Publish::new(fields);
        self.publishes.push(PendingPublish { publish, properties: properties.into(), body });
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
