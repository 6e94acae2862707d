//! `ExchangeDeclaration`: what a client declares an exchange to be.

use hairstreak_wire::amqp::EncodedTable;

/// An exchange as a client declares it, and as it is compared with later declarations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExchangeDeclaration {
    /// The name.
    pub name: Box<[u8]>,
    /// The type, such as `topic`.
    pub kind: Box<[u8]>,
    /// The exchange outlives a restart.
    pub is_durable: bool,
    /// The exchange is deleted together with the last binding from it.
    pub is_auto_delete: bool,
    /// Clients cannot publish to the exchange; only other exchanges and dead letters lead to it.
    pub is_internal: bool,
    /// `alternate-exchange`, and arguments of the type.
    pub arguments: EncodedTable,
}
