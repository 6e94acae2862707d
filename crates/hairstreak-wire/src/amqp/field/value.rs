//! `FieldTable` and `FieldValue`: named values of many types, owned. Encoding is in `encode`, decoding in `decode`.

use crate::amqp::strings::SHORT_STRING_SIZE_MAX;

/// Deepest nesting of tables and arrays. The outermost table has depth 1.
pub const DEPTH_MAX: usize = 64;

/// Largest number of fields of a table, including those of the tables and arrays in it.
pub const FIELD_COUNT_MAX: usize = 65_536;

/// Named values in the order in which they were sent or inserted. If a peer sends a name twice, the first one counts,
/// as in RabbitMQ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldTable {
    pub(super) fields: Vec<(Box<[u8]>, FieldValue)>,
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
    pub fn letter(&self) -> u8 {
        match self {
            FieldValue::Bool(_) => b't',
            FieldValue::I8(_) => b'b',
            FieldValue::U8(_) => b'B',
            FieldValue::I16(_) => b's',
            FieldValue::U16(_) => b'u',
            FieldValue::I32(_) => b'I',
            FieldValue::U32(_) => b'i',
            FieldValue::I64(_) => b'l',
            FieldValue::F32(_) => b'f',
            FieldValue::F64(_) => b'd',
            FieldValue::Decimal { .. } => b'D',
            FieldValue::LongString(_) => b'S',
            FieldValue::Array(_) => b'A',
            FieldValue::Timestamp(_) => b'T',
            FieldValue::Table(_) => b'F',
            FieldValue::Void => b'V',
            FieldValue::Bytes(_) => b'x',
        }
    }

    /// Returns RabbitMQ's name of the type in its texts, such as `longstr`.
    pub fn type_name(&self) -> &'static str {
        match self {
            FieldValue::Bool(_) => "bool",
            FieldValue::I8(_) => "byte",
            FieldValue::U8(_) => "unsignedbyte",
            FieldValue::I16(_) => "short",
            FieldValue::U16(_) => "unsignedshort",
            FieldValue::I32(_) => "signedint",
            FieldValue::U32(_) => "unsignedint",
            FieldValue::I64(_) => "long",
            FieldValue::F32(_) => "float",
            FieldValue::F64(_) => "double",
            FieldValue::Decimal { .. } => "decimal",
            FieldValue::LongString(_) => "longstr",
            FieldValue::Array(_) => "array",
            FieldValue::Timestamp(_) => "timestamp",
            FieldValue::Table(_) => "table",
            FieldValue::Void => "void",
            FieldValue::Bytes(_) => "binary",
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
