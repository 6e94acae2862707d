//! `ExchangeInfo`: an exchange as operators see it.

use hairstreak_wire::amqp::EncodedTable;

use crate::stats::ExchangeStats;

/// An exchange. The default exchange has an empty name.
#[derive(Clone, Debug, PartialEq)]
pub struct ExchangeInfo {
    /// The name.
    pub name: Box<[u8]>,
    /// The type, such as `topic`.
    pub kind: Box<[u8]>,
    /// Whether the exchange outlives the node.
    pub is_durable: bool,
    /// Whether the exchange goes with the last binding from it.
    pub is_auto_delete: bool,
    /// Whether clients cannot publish to the exchange.
    pub is_internal: bool,
    /// The arguments of the declaration.
    pub arguments: EncodedTable,
    /// The name of the policy that applies.
    pub policy: Option<String>,
    /// The counters.
    pub stats: ExchangeStats,
}
