//! `Transaction`: what a channel has published and settled since tx.select or the last commit.
//!
//! A commit publishes the messages in order and settles then. A rollback forgets both: the messages were never published, and the deliveries are
//! still to be settled.

use hairstreak_broker::Refusal;
use hairstreak_wire::amqp::ReplyCode;

use super::body::WholeBody;
use super::publish::{Publish, PublishFields};

/// Bytes of messages that one transaction may hold.
pub(super) const TRANSACTION_BYTES_MAX: usize = 128 * 1024 * 1024;

/// The open transaction of a channel.
#[derive(Default)]
pub(super) struct Transaction {
    publishes: Vec<PendingPublish>,
    settlements: Vec<Settlement>,
    bytes: usize,
}

/// A message that is published with the commit.
pub(super) struct PendingPublish {
    pub publish: Publish,
    pub properties: Box<[u8]>,
    pub body: WholeBody,
}

/// A settlement that counts with the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settlement {
    pub delivery_tag: u64,
    pub multiple: bool,
    pub kind: SettlementKind,
}

/// How deliveries are settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettlementKind {
    Ack,
    Reject { requeue: bool },
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

    pub fn add_settlement(&mut self, settlement: Settlement) {
        self.settlements.push(settlement);
    }

    /// Takes everything; the transaction is empty then.
    pub fn take(&mut self) -> (Vec<PendingPublish>, Vec<Settlement>) {
        self.bytes = 0;
        (std::mem::take(&mut self.publishes), std::mem::take(&mut self.settlements))
    }
}
