//! `Fields` and `Field`: the fields of a table as they lie in their bytes. Nothing is allocated, and what lies in a
//! field is not looked at.

use crate::amqp::cursor::Cursor;
use crate::amqp::error::DecodeError;

/// A field of a table, or a value of an array, which has an empty name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The name.
    pub name: &'a [u8],
    /// The letter of the type, see [`FieldValue`](super::FieldValue).
    pub letter: u8,
    /// The value: for strings, byte arrays, tables and arrays what lies behind their size.
    pub value: &'a [u8],
}

impl<'a> Field<'a> {
    /// The bytes of a long string or of a byte array.
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        matches!(self.letter, b'S' | b'x').then_some(self.value)
    }
}

/// The fields of a table, in order. Ends with the first error.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Fields<'a> {
    /// The fields in `fields`: a table without its size.
    pub fn new(fields: &'a [u8]) -> Fields<'a> {
        Fields { cursor: Cursor(fields) }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.cursor.0.is_empty() {
            return None;
        }
        let field = self.cursor.short_string().and_then(|name| take_value(name, &mut self.cursor));
        if field.is_err() {
            self.cursor.0 = &[];
        }
        Some(field)
    }
}

/// Takes the letter of a type and the value.
pub(super) fn take_value<'a>(name: &'a [u8], cursor: &mut Cursor<'a>) -> Result<Field<'a>, DecodeError> {
    let letter = cursor.octet()?;
    let value = match letter {
        b't' | b'b' | b'B' => cursor.bytes(1),
        b's' | b'u' => cursor.bytes(2),
        b'I' | b'i' | b'f' => cursor.bytes(4),
        b'D' => cursor.bytes(5),
        b'l' | b'L' | b'd' | b'T' => cursor.bytes(8),
        b'S' | b'x' | b'F' | b'A' => cursor.long_string(),
        b'V' => cursor.bytes(0),
        letter => Err(DecodeError::UnknownFieldType { letter }),
    }?;
    Ok(Field { name, letter, value })
}
