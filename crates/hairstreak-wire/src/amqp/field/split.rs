//! `Fields`, `Values` and `Field`: the undecoded content of a table or an array, and its check. Nothing is allocated. The
//! iterators do not inspect nested tables and arrays. The check bounds their depth and the number of fields.

use crate::amqp::cursor::Cursor;
use crate::amqp::error::{DEPTH_MAX, DecodeError, FIELD_COUNT_MAX};

/// A field of a table, or a value of an array. A value of an array has an empty name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The name.
    pub name: &'a [u8],
    /// The letter of the type, see [`FieldValue`](super::FieldValue).
    pub letter: u8,
    /// The value. For strings, byte arrays, tables and arrays: the bytes behind their size.
    pub value: &'a [u8],
}

impl<'a> Field<'a> {
    /// Returns the bytes of a long string or of a byte array.
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        matches!(self.letter, b'S' | b'x').then_some(self.value)
    }

    fn take_named(cursor: &mut Cursor<'a>) -> Result<Field<'a>, DecodeError> {
        let name = cursor.short_string()?;
        Ok(Field { name, ..Field::take_unnamed(cursor)? })
    }

    fn take_unnamed(cursor: &mut Cursor<'a>) -> Result<Field<'a>, DecodeError> {
        let letter = cursor.octet()?;
        let value = match letter {
            b'S' | b'x' | b'F' | b'A' => cursor.long_string(),
            b'V' => cursor.bytes(0),
            b't' | b'b' | b'B' => cursor.bytes(1),
            b's' | b'u' => cursor.bytes(2),
            b'I' | b'i' | b'f' => cursor.bytes(4),
            b'D' => cursor.bytes(5),
            b'l' | b'L' | b'd' | b'T' => cursor.bytes(8),
            letter => Err(DecodeError::UnknownFieldType { letter }),
        }?;
        Ok(Field { name: &[], letter, value })
    }
}

/// The fields of a table, in order. Ends with the first error.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    cursor: Cursor<'a>,
}

/// The values of an array, in order. Ends with the first error.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Fields<'a> {
    /// Iterates over the fields in `fields`: a table without its size.
    pub fn new(fields: &'a [u8]) -> Fields<'a> {
        Fields { cursor: Cursor(fields) }
    }
}

impl<'a> Values<'a> {
    /// Iterates over the values in `values`: an array without its size.
    pub fn new(values: &'a [u8]) -> Values<'a> {
        Values { cursor: Cursor(values) }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        next(&mut self.cursor, Field::take_named)
    }
}

impl<'a> Iterator for Values<'a> {
    type Item = Result<Field<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        next(&mut self.cursor, Field::take_unnamed)
    }
}

/// Returns the next item that `take` decodes, until the bytes are used up. An error uses them up.
fn next<'a>(
    cursor: &mut Cursor<'a>,
    take: impl FnOnce(&mut Cursor<'a>) -> Result<Field<'a>, DecodeError>,
) -> Option<Result<Field<'a>, DecodeError>> {
    if cursor.0.is_empty() {
        return None;
    }
    let field = take(cursor);
    if field.is_err() {
        cursor.0 = &[];
    }
    Some(field.map_err(|error| match error {
        DecodeError::Cut => DecodeError::CutTable,
        error => error,
    }))
}

/// Checks a table without its size, including all tables and arrays in it.
pub(in crate::amqp) fn check_table(fields: &[u8]) -> Result<(), DecodeError> {
    Check { field_count: 0 }.fields(Fields::new(fields), 1)
}

/// Checks the tables and arrays in a value.
pub(super) fn check_value(field: Field<'_>) -> Result<(), DecodeError> {
    Check { field_count: 0 }.fields(std::iter::once(Ok(field)), 0)
}

struct Check {
    /// Number of fields so far.
    field_count: usize,
}

impl Check {
    /// Checks the fields of a table or an array at that depth.
    fn fields<'a>(
        &mut self,
        fields: impl Iterator<Item = Result<Field<'a>, DecodeError>>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        if depth > DEPTH_MAX {
            return Err(DecodeError::TooDeep);
        }
        for field in fields {
            let field = field?;
            self.field_count += 1;
            if self.field_count > FIELD_COUNT_MAX {
                return Err(DecodeError::TooManyFields);
            }
            match field.letter {
                b'F' => self.fields(Fields::new(field.value), depth + 1)?,
                b'A' => self.fields(Values::new(field.value), depth + 1)?,
                _ => {}
            }
        }
        Ok(())
    }
}
