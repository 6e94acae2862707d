//! `ExchangeId` and `Destination`: what a binding leads from and to.

use crate::queue::QueueId;

/// The number of an exchange: the index into the table of exchanges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ExchangeId(pub(super) u32);

impl ExchangeId {
    /// The default exchange, which is in no table.
    pub(crate) const DEFAULT: ExchangeId = ExchangeId(u32::MAX);
}

impl Default for ExchangeId {
    fn default() -> ExchangeId {
        ExchangeId::DEFAULT
    }
}

/// The destination of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Destination {
    Queue(QueueId),
    Exchange(ExchangeId),
}
