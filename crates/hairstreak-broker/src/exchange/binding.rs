//! `Binding`: from where to where, under which conditions.

use hairstreak_wire::amqp::{EncodedTable, FieldTable, FieldValue};

use super::destination::{Destination, ExchangeId};

/// About the memory of a binding with its places in tables.
const BINDING_BYTES: usize = 256;

/// About the memory of a word of a routing key in the tree of a topic exchange.
const WORD_BYTES: usize = 48;

/// The number of a binding.
pub(super) type BindingId = u32;

/// A binding. Two with the same fields are one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Binding {
    pub(super) source: ExchangeId,
    pub(super) destination: Destination,
    pub(super) key: Box<[u8]>,
    /// The arguments in the order of their names.
    pub(super) arguments: EncodedTable,
}

impl Binding {
    pub(super) fn new(
        source: ExchangeId,
        destination: Destination,
        key: &[u8],
        arguments: &FieldTable,
    ) -> Binding {
        Binding { source, destination, key: key.into(), arguments: sorted(arguments) }
    }

    /// The memory of the binding, in bytes. The exchange keeps the routing key a second time, and shares the arguments.
    pub(super) fn memory_bytes(&self) -> usize {
        let word_count = 1 + self.key.iter().filter(|byte| **byte == b'.').count();
        BINDING_BYTES + 2 * self.key.len() + WORD_BYTES * word_count + self.arguments.size()
    }
}

/// The order of the arguments makes no other binding, but each byte of a value does.
fn sorted(arguments: &FieldTable) -> EncodedTable {
    let mut fields: Vec<(&[u8], &FieldValue)> = arguments.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    EncodedTable::from_fields(fields)
}
