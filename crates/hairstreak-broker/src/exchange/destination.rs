//! `ExchangeId` and `Destination`: what a binding leads from and to.

use crate::queue::QueueId;

/// The number of an exchange: the index into the table of exchanges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ExchangeId(pub(super) u32);

/// The destination of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Destination {
    Queue(QueueId),
    Exchange(ExchangeId),
}
