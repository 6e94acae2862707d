//! `Binding`: from where to where, under which conditions.

use hairstreak_wire::amqp::{EncodedTable, FieldTable, FieldValue};

use super::destination::{Destination, ExchangeId};

/// The memory of a binding and of its places in the tables of its virtual host and of its exchange, about.
const BINDING_BYTES: usize = 256;

/// The number of a binding.
pub(super) type BindingId = u32;

/// A binding. Two with the same fields are one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Binding {
    pub(super) source: ExchangeId,
    pub(super) destination: Destination,
    pub(super) key: Box<[u8]>,
    /// The arguments in the order of their names, as in RabbitMQ.
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

    /// The memory of the binding, in bytes. The exchange has the routing key or the arguments again.
    pub(super) fn memory_bytes(&self) -> usize {
        BINDING_BYTES + 2 * self.key.len() + self.arguments.size()
    }
}

/// The order of the arguments makes no other binding, but each byte of a value does.
fn sorted(arguments: &FieldTable) -> EncodedTable {
    let mut fields: Vec<(&[u8], &FieldValue)> = arguments.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    EncodedTable::from_fields(fields)
}
