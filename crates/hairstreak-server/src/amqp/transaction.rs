//! `Transaction`: what a channel has published and settled since tx.select or the last commit.
//!
//! A commit publishes the messages in order and settles then. A rollback forgets both: the messages were never published, and the deliveries are
//! still to be settled.

use hairstreak_broker::Refusal;
use hairstreak_broker::vhost::Settlement;
use hairstreak_wire::amqp::ReplyCode;

use super::body::WholeBody;
use super::publish::{Publish, PublishFields};

/// Bytes of messages that one transaction may hold.
pub(super) const TRANSACTION_BYTES_MAX: usize = 128 * 1024 * 1024;

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
    /// Errors: the transaction holds [`TRANSACTION_BYTES_MAX`] bytes.
    pub fn add_publish(
        &mut self,
        fields: &PublishFields<'_>,
        properties: &[u8],
        body: WholeBody,
    ) -> Result<(), Refusal> {
        self.bytes += body.view().as_bytes().len() + properties.len();
        if self.bytes > TRANSACTION_BYTES_MAX {
            let text = format!("a transaction holds at most {TRANSACTION_BYTES_MAX} bytes");
            return Err(Refusal::new(ReplyCode::ResourceError, text));
        }
        self.publishes.push(PendingPublish {
            publish: Publish::new(fields),
            properties: properties.into(),
            body,
        });
        Ok(())
    }

    /// `count` deliveries are held, and settled with the commit.
    pub fn add_settlement(&mut self, count: usize, settlement: Settlement) {
        self.settlements.push((count, settlement));
    }

    /// Takes everything; the transaction is empty then.
    pub fn take(&mut self) -> (Vec<PendingPublish>, Vec<(usize, Settlement)>) {
        self.bytes = 0;
        (std::mem::take(&mut self.publishes), std::mem::take(&mut self.settlements))
    }
}
