//! `BindingInfo`: a binding as operators see it, and as it is kept on disk.

use hairstreak_wire::amqp::EncodedTable;

/// A binding. Those of the default exchange are not kept: each queue is bound to it by its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BindingInfo {
    /// The exchange that messages come from.
    pub source: Box<[u8]>,
    /// The queue or the exchange that messages go to.
    pub destination: Box<[u8]>,
    /// Whether the destination is an exchange.
    pub is_to_exchange: bool,
    /// The routing key.
    pub routing_key: Box<[u8]>,
    /// The arguments.
    pub arguments: EncodedTable,
}
