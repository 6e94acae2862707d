//! `Binding`: from where to where, under which conditions.

use hairstreak_wire::amqp::{FieldTable, FieldValue};

use super::destination::{Destination, ExchangeId};

/// The number of a binding.
pub(super) type BindingId = u32;

/// A binding. Two with the same fields are one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Binding {
    pub(super) source: ExchangeId,
    pub(super) destination: Destination,
    pub(super) key: Box<[u8]>,
    /// The arguments, encoded in the order of their names.
    arguments: Box<[u8]>,
}

impl Binding {
    pub(super) fn new(
        source: ExchangeId,
        destination: Destination,
        key: &[u8],
        arguments: &FieldTable,
    ) -> Binding {
        Binding { source, destination, key: key.into(), arguments: encode_sorted(arguments).into() }
    }
}

/// The order of the arguments makes no other binding, but each byte of a value does.
fn encode_sorted(arguments: &FieldTable) -> Vec<u8> {
    let mut fields: Vec<(&[u8], &FieldValue)> = arguments.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    let mut encoded = Vec::new();
    for (name, value) in fields {
        FieldTable::from_iter([(name, value.clone())]).encode_fields(&mut encoded);
    }
    encoded
}
