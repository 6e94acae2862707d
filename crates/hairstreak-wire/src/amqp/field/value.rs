//! `FieldTable` and `FieldValue`: named values of many types, owned, with their encoding and decoding. A table is checked
//! as a whole before any allocation for it.

use super::split::{Field, Fields, Values, check_table, check_value};
use crate::amqp::cursor::Cursor;
use crate::amqp::error::DecodeError;
use crate::amqp::strings::{SHORT_STRING_SIZE_MAX, put_long_string, put_short_string, put_sized};

/// Named values in the order in which they were sent or inserted. If a peer sends a name twice, the first one counts,
/// as in RabbitMQ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldTable {
    fields: Vec<(Box<[u8]>, FieldValue)>,
}

/// A value of a field table or an array. The letters are RabbitMQ's. For integers they differ from the
/// specification's.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue {
    /// `t`
    Bool(bool),
    /// `b`
    I8(i8),
    /// `B`
    U8(u8),
    /// `s`
    I16(i16),
    /// `u`
    U16(u16),
    /// `I`
    I32(i32),
    /// `i`
    U32(u32),
    /// `l`; `L` is read as the same type
    I64(i64),
    /// `f`
    F32(f32),
    /// `d`
    F64(f64),
    /// `D`: `value` divided by 10 to the power of `scale`.
    Decimal {
        /// Number of digits behind the decimal point.
        scale: u8,
        /// The digits.
        value: u32,
    },
    /// `S`
    LongString(Box<[u8]>),
    /// `A`
    Array(Vec<FieldValue>),
    /// `T`: seconds since 1970.
    Timestamp(u64),
    /// `F`
    Table(FieldTable),
    /// `V`
    Void,
    /// `x`
    Bytes(Box<[u8]>),
}

impl FieldTable {
    /// Creates an empty table.
    pub const fn new() -> FieldTable {
        FieldTable { fields: Vec::new() }
    }

    /// Sets the value of the field `name`, which keeps its place if it exists. Compares all names: fields whose names
    /// are known to differ are appended with [`FieldTable::push`]. A name has at most [`SHORT_STRING_SIZE_MAX`]
    /// bytes.
    pub fn insert(&mut self, name: impl AsRef<[u8]>, value: impl Into<FieldValue>) {
        let name = name.as_ref();
        match self.fields.iter_mut().find(|(other, _)| **other == *name) {
            Some((_, old)) => *old = value.into(),
            None => self.push(name, value),
        }
    }

    /// Appends a field without comparing names. If the name exists already, the first field counts. A name has at
    /// most [`SHORT_STRING_SIZE_MAX`] bytes.
    pub fn push(&mut self, name: impl AsRef<[u8]>, value: impl Into<FieldValue>) {
        let (name, value) = (name.as_ref(), value.into());
        debug_assert!(name.len() <= SHORT_STRING_SIZE_MAX, "a field's name has {} bytes", name.len());
        self.fields.push((name.into(), value));
    }

    /// Returns the value of the field `name`.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<&FieldValue> {
        let name = name.as_ref();
        self.iter().find(|(other, _)| *other == name).map(|(_, value)| value)
    }

    /// Removes the field `name` and returns its value.
    pub fn remove(&mut self, name: impl AsRef<[u8]>) -> Option<FieldValue> {
        let name = name.as_ref();
        let index = self.fields.iter().position(|(other, _)| **other == *name)?;
        let (_, value) = self.fields.remove(index);
        self.fields.retain(|(other, _)| **other != *name);
        Some(value)
    }

    /// Iterates over the fields in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &FieldValue)> {
        self.fields.iter().map(|(name, value)| (&**name, value))
    }

    /// Returns the number of fields.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Returns whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Decodes a table that begins with its size and fills `bytes`.
    pub fn decode(bytes: &[u8]) -> Result<FieldTable, DecodeError> {
        let mut cursor = Cursor(bytes);
        let fields = cursor.long_string()?;
        cursor.finish()?;
        FieldTable::decode_fields(fields)
    }

    /// Decodes a table without its size.
    pub(in crate::amqp) fn decode_fields(fields: &[u8]) -> Result<FieldTable, DecodeError> {
        check_table(fields)?;
        decode_checked(fields)
    }

    /// Checks that [`FieldTable::decode`] can decode the encoded table again. A decoded table has passed this check.
    ///
    /// # Errors
    ///
    /// Tables and arrays are nested too deep, or there are too many fields.
    pub fn check(&self) -> Result<(), DecodeError> {
        let mut fields = Vec::new();
        self.encode_fields(&mut fields);
        check_table(&fields)
    }

    /// Appends the table, its size first.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_sized(out, |out| self.encode_fields(out));
    }

    /// Appends the fields without the size of the table.
    pub fn encode_fields(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|(name, value)| value.encode_field(name, out));
    }
}

/// Decodes a checked table without its size.
fn decode_checked(fields: &[u8]) -> Result<FieldTable, DecodeError> {
    let fields = Fields::new(fields).map(|field| {
        let field = field?;
        Ok((field.name.into(), FieldValue::decode_checked(field)?))
    });
    Ok(FieldTable { fields: fields.collect::<Result<_, _>>()? })
}

impl<N: AsRef<[u8]>, V: Into<FieldValue>> FromIterator<(N, V)> for FieldTable {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(fields: I) -> FieldTable {
        let mut table = FieldTable::new();
        for (name, value) in fields {
            table.insert(name, value);
        }
        table
    }
}

impl FieldValue {
    /// Returns the value of an integer of any size. `None` for other types.
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            FieldValue::I8(value) => Some(value.into()),
            FieldValue::U8(value) => Some(value.into()),
            FieldValue::I16(value) => Some(value.into()),
            FieldValue::U16(value) => Some(value.into()),
            FieldValue::I32(value) => Some(value.into()),
            FieldValue::U32(value) => Some(value.into()),
            FieldValue::I64(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match *self {
            FieldValue::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the bytes of a long string or of a byte array.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            FieldValue::LongString(bytes) | FieldValue::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns the values of an array.
    pub fn as_array(&self) -> Option<&[FieldValue]> {
        match self {
            FieldValue::Array(values) => Some(values),
            _ => None,
        }
    }

    /// Returns the fields of a table.
    pub fn as_table(&self) -> Option<&FieldTable> {
        match self {
            FieldValue::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Returns the letter of the type.
    #[inline]
    pub fn letter(&self) -> u8 {
        self.kind().0
    }

    /// Returns RabbitMQ's name of the type in its texts, such as `longstr`.
    pub fn type_name(&self) -> &'static str {
        self.kind().1
    }

    #[inline]
    fn kind(&self) -> (u8, &'static str) {
        match self {
            FieldValue::Bool(_) => (b't', "bool"),
            FieldValue::I8(_) => (b'b', "byte"),
            FieldValue::U8(_) => (b'B', "unsignedbyte"),
            FieldValue::I16(_) => (b's', "short"),
            FieldValue::U16(_) => (b'u', "unsignedshort"),
            FieldValue::I32(_) => (b'I', "signedint"),
            FieldValue::U32(_) => (b'i', "unsignedint"),
            FieldValue::I64(_) => (b'l', "long"),
            FieldValue::F32(_) => (b'f', "float"),
            FieldValue::F64(_) => (b'd', "double"),
            FieldValue::Decimal { .. } => (b'D', "decimal"),
            FieldValue::LongString(_) => (b'S', "longstr"),
            FieldValue::Array(_) => (b'A', "array"),
            FieldValue::Timestamp(_) => (b'T', "timestamp"),
            FieldValue::Table(_) => (b'F', "table"),
            FieldValue::Void => (b'V', "void"),
            FieldValue::Bytes(_) => (b'x', "binary"),
        }
    }

    /// Returns whether two values are equal as RabbitMQ compares arguments and headers: integers of any size compare
    /// by value, and so do floating point numbers. Other values are equal only to values of their own type.
    pub fn is_equivalent(&self, other: &FieldValue) -> bool {
        match (self, other) {
            (FieldValue::F32(one), FieldValue::F64(other))
            | (FieldValue::F64(other), FieldValue::F32(one)) => f64::from(*one) == *other,
            _ => match (self.as_i64(), other.as_i64()) {
                (Some(one), Some(other)) => one == other,
                _ => self == other,
            },
        }
    }

    /// Decodes the value of a field.
    ///
    /// # Errors
    ///
    /// The type is unknown, or the value does not fit its type. Tables and arrays are nested too deep, or there are
    /// too many fields.
    pub fn decode(field: Field<'_>) -> Result<FieldValue, DecodeError> {
        check_value(field)?;
        FieldValue::decode_checked(field)
    }

    /// Decodes a value, whose tables and arrays are checked.
    fn decode_checked(field: Field<'_>) -> Result<FieldValue, DecodeError> {
        let mut cursor = Cursor(field.value);
        Ok(match field.letter {
            b't' => FieldValue::Bool(cursor.octet()? != 0),
            b'b' => FieldValue::I8(i8::from_be_bytes(cursor.array()?)),
            b'B' => FieldValue::U8(cursor.octet()?),
            b's' => FieldValue::I16(i16::from_be_bytes(cursor.array()?)),
            b'u' => FieldValue::U16(u16::from_be_bytes(cursor.array()?)),
            b'I' => FieldValue::I32(i32::from_be_bytes(cursor.array()?)),
            b'i' => FieldValue::U32(u32::from_be_bytes(cursor.array()?)),
            b'l' | b'L' => FieldValue::I64(i64::from_be_bytes(cursor.array()?)),
            b'f' => FieldValue::F32(f32::from_be_bytes(cursor.array()?)),
            b'd' => FieldValue::F64(f64::from_be_bytes(cursor.array()?)),
            b'T' => FieldValue::Timestamp(u64::from_be_bytes(cursor.array()?)),
            b'D' => {
                FieldValue::Decimal { scale: cursor.octet()?, value: u32::from_be_bytes(cursor.array()?) }
            }
            b'S' => FieldValue::LongString(field.value.into()),
            b'x' => FieldValue::Bytes(field.value.into()),
            b'F' => FieldValue::Table(decode_checked(field.value)?),
            b'A' => FieldValue::Array(
                Values::new(field.value)
                    .map(|value| FieldValue::decode_checked(value?))
                    .collect::<Result<_, _>>()?,
            ),
            b'V' => FieldValue::Void,
            letter => return Err(DecodeError::UnknownFieldType { letter }),
        })
    }

    /// Appends a field of that name with this value.
    pub(super) fn encode_field(&self, name: &[u8], out: &mut Vec<u8>) {
        put_short_string(name, out);
        self.encode(out);
    }

    /// Appends the letter of the type, and the value.
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.letter());
        match self {
            FieldValue::Bool(value) => out.push(u8::from(*value)),
            FieldValue::I8(value) => out.extend_from_slice(&value.to_be_bytes()),
            FieldValue::U8(value) => out.extend_from_slice(&value.to_be_bytes()),
            FieldValue::I16(value) => out.extend_from_slice(&value.to_be_bytes()),
            FieldValue::U16(value) => out.extend_from_slice(&value.to_be_bytes()),
            FieldValue::I32(value) => out.extend_from_slice(&value.to_be_bytes()),
            FieldValue::U32(value) => out.extend_from_slice(&value.to_be_bytes()),
            FieldValue::I64(value) => out.extend_from_slice(&value.to_be_bytes()),
            FieldValue::F32(value) => out.extend_from_slice(&value.to_be_bytes()),
            FieldValue::F64(value) => out.extend_from_slice(&value.to_be_bytes()),
            FieldValue::Timestamp(value) => out.extend_from_slice(&value.to_be_bytes()),
            FieldValue::Decimal { scale, value } => {
                out.push(*scale);
                out.extend_from_slice(&value.to_be_bytes());
            }
            FieldValue::Void => {}
            FieldValue::LongString(bytes) | FieldValue::Bytes(bytes) => put_long_string(bytes, out),
            FieldValue::Table(table) => table.encode(out),
            FieldValue::Array(values) => {
                put_sized(out, |out| values.iter().for_each(|value| value.encode(out)));
            }
        }
    }
}

macro_rules! from {
    ($($type:ty => $variant:ident),* $(,)?) => {
        $(impl From<$type> for FieldValue {
            fn from(value: $type) -> FieldValue {
                FieldValue::$variant(value.into())
            }
        })*
    };
}

from! {
    bool => Bool,
    i32 => I32,
    u32 => U32,
    i64 => I64,
    f64 => F64,
    &[u8] => LongString,
    FieldTable => Table,
    Vec<FieldValue> => Array,
}

impl From<&str> for FieldValue {
    fn from(value: &str) -> FieldValue {
        value.as_bytes().into()
    }
}
