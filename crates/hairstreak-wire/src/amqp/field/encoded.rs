//! `EncodedTable`: a field table stored as the bytes of its encoding.

use std::fmt;
use std::sync::Arc;

use super::split::{Field, Fields, check_table};
use super::value::{FieldTable, FieldValue};
use crate::amqp::error::DecodeError;

/// A stored field table. It takes the bytes of its encoding; a [`FieldTable`] with many small fields takes seven
/// times as many. Clones share the bytes, and reading a value decodes it.
///
/// ```
/// use hairstreak_wire::amqp::{EncodedTable, FieldTable, FieldValue};
///
/// let table = FieldTable::from_iter([("x-priority", 5)]);
/// let kept = EncodedTable::from(&table);
/// assert_eq!(kept.size(), 16);
/// assert_eq!(kept.get("x-priority"), Some(FieldValue::I32(5)));
/// assert_eq!(kept.decode(), table);
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct EncodedTable {
    /// The fields without the size of the table. They come from a [`FieldTable`], so they decode.
    fields: Arc<[u8]>,
}

impl EncodedTable {
    /// Creates the table of these fields, in their order.
    pub fn from_fields<'a>(fields: impl IntoIterator<Item = (&'a [u8], &'a FieldValue)>) -> EncodedTable {
        let mut encoded = Vec::new();
        fields.into_iter().for_each(|(name, value)| value.encode_field(name, &mut encoded));
        EncodedTable::of_bytes(encoded)
    }

    /// Returns the table with one additional field at the end.
    pub fn with(&self, name: &[u8], value: &FieldValue) -> EncodedTable {
        let mut encoded = self.fields.to_vec();
        value.encode_field(name, &mut encoded);
        EncodedTable::of_bytes(encoded)
    }

    /// Creates a table of encoded fields. Most tables are empty; all empty tables share one allocation.
    fn of_bytes(encoded: Vec<u8>) -> EncodedTable {
        if encoded.is_empty() { EncodedTable::default() } else { EncodedTable { fields: encoded.into() } }
    }

    /// Returns the size of the fields in bytes.
    pub fn size(&self) -> usize {
        self.fields.len()
    }

    /// Returns whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Returns the fields in order, undecoded.
    pub fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        Fields::new(&self.fields).map_while(Result::ok)
    }

    /// Returns the value of the first field with that name.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<FieldValue> {
        let name = name.as_ref();
        FieldValue::decode(self.fields().find(|field| field.name == name)?).ok()
    }

    /// Returns the fields with names that `is_wanted` accepts, the first one of each name.
    pub fn select(&self, is_wanted: impl Fn(&[u8]) -> bool) -> FieldTable {
        let mut table = FieldTable::new();
        for field in self.fields().filter(|field| is_wanted(field.name)) {
            if table.get(field.name).is_none()
                && let Ok(value) = FieldValue::decode(field)
            {
                table.push(field.name, value);
            }
        }
        table
    }

    /// Returns all fields, decoded.
    pub fn decode(&self) -> FieldTable {
        FieldTable::decode_fields(&self.fields).unwrap_or_default()
    }

    /// Checks the table as [`FieldTable::check`] does.
    ///
    /// # Errors
    ///
    /// Tables and arrays are nested too deep, or there are too many fields.
    pub fn check(&self) -> Result<(), DecodeError> {
        check_table(&self.fields)
    }
}

impl From<&FieldTable> for EncodedTable {
    fn from(table: &FieldTable) -> EncodedTable {
        EncodedTable::from_fields(table.iter())
    }
}

impl From<FieldTable> for EncodedTable {
    fn from(table: FieldTable) -> EncodedTable {
        (&table).into()
    }
}

/// Formats the fields.
impl fmt::Debug for EncodedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.decode().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_field_of_a_name_counts_and_all_are_kept() {
        let (one, two) = (FieldValue::I32(1), FieldValue::from("two"));
        let table = EncodedTable::from_fields([(&b"a"[..], &one), (b"b", &two), (b"a", &two)]);
        assert_eq!(table.get("a"), Some(one.clone()));
        assert_eq!(table.get("c"), None);
        assert_eq!(table.select(|name| name == b"a"), FieldTable::from_iter([("a", one.clone())]));
        assert_eq!((table.decode().len(), table.fields().count()), (3, 3));
        let longer = table.with(b"c", &one);
        assert_eq!((longer.get("c"), longer.decode().len()), (Some(one), 4));
        assert_eq!(EncodedTable::from(table.decode()), table);
    }

    #[test]
    fn tables_as_deep_as_allowed_come_back() {
        let mut table = FieldTable::from_iter([("a", 1)]);
        for _ in 1..crate::amqp::DEPTH_MAX {
            table = FieldTable::from_iter([("a", table)]);
        }
        let kept = EncodedTable::from(&table);
        assert_eq!(kept.check(), Ok(()));
        assert_eq!(kept.decode(), table);
        assert_eq!(kept.get("a").as_ref(), table.get("a"));
        let deeper = EncodedTable::from(FieldTable::from_iter([("a", table)]));
        assert_eq!(deeper.check(), Err(DecodeError::TooDeep));
    }
}
