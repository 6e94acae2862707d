//! `EncodedTable`: a field table that is kept, as the bytes of its encoding.

use std::fmt;
use std::sync::Arc;

use super::check::check_table;
use super::decode::decode_table;
use super::split::{Field, Fields};
use super::value::{FieldTable, FieldValue};
use crate::amqp::error::DecodeError;

/// A field table that is kept. It takes the bytes of its encoding, where a [`FieldTable`] takes up to 14 times as many, and clones share them.
/// Reading a value decodes the value.
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
    /// The fields without the size of the table. They come from a [`FieldTable`], so that they decode.
    fields: Arc<[u8]>,
}

impl EncodedTable {
    /// The table of these fields, in their order.
    pub fn from_fields<'a>(fields: impl IntoIterator<Item = (&'a [u8], &'a FieldValue)>) -> EncodedTable {
        let mut encoded = Vec::new();
        fields.into_iter().for_each(|(name, value)| value.encode_field(name, &mut encoded));
        EncodedTable { fields: encoded.into() }
    }

    /// The bytes of the fields.
    pub fn size(&self) -> usize {
        self.fields.len()
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The fields in order, as they lie in their bytes.
    pub fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        Fields::new(&self.fields).map_while(Result::ok)
    }

    /// The value of the first field with that name.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<FieldValue> {
        let name = name.as_ref();
        self.fields().find(|field| field.name == name)?.decode().ok()
    }

    /// The fields with names that `is_wanted` accepts, the first one of each name.
    pub fn select(&self, is_wanted: impl Fn(&[u8]) -> bool) -> FieldTable {
        let mut table = FieldTable::new();
        for field in self.fields().filter(|field| is_wanted(field.name)) {
            if table.get(field.name).is_none()
                && let Ok(value) = field.decode()
            {
                table.push(field.name, value);
            }
        }
        table
    }

    /// All fields.
    pub fn decode(&self) -> FieldTable {
        decode_table(&self.fields).unwrap_or_default()
    }

    /// Checks the table as [`FieldTable::check`] does.
    ///
    /// # Errors
    ///
    /// Tables and arrays lie too deep in each other, or there are too many fields.
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

/// Shows the fields.
impl fmt::Debug for EncodedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.decode().fmt(f)
    }
}
