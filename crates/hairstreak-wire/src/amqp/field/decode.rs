//! Decoding of field tables. A table is checked as a whole before any allocation for it.

use super::check::{check_table, check_value};
use super::split::{Field, Fields, Values};
use super::value::{FieldTable, FieldValue};
use crate::amqp::cursor::Cursor;
use crate::amqp::error::DecodeError;

impl FieldTable {
    /// Decodes a table that begins with its size and fills `bytes`.
    pub fn decode(bytes: &[u8]) -> Result<FieldTable, DecodeError> {
        let mut cursor = Cursor(bytes);
        let fields = cursor.long_string()?;
        cursor.finish()?;
        decode_table(fields)
    }
}

impl Field<'_> {
    /// Decodes the value.
    ///
    /// # Errors
    ///
    /// The type is unknown, or the value does not fit its type. Tables and arrays are nested too deep, or there are
    /// too many fields.
    pub fn decode(self) -> Result<FieldValue, DecodeError> {
        check_value(self)?;
        value(self)
    }
}

/// Decodes a table without its size.
pub(in crate::amqp) fn decode_table(fields: &[u8]) -> Result<FieldTable, DecodeError> {
    check_table(fields)?;
    table(fields)
}

/// Decodes a checked table.
fn table(fields: &[u8]) -> Result<FieldTable, DecodeError> {
    let fields = Fields::new(fields).map(|field| {
        let field = field?;
        Ok((field.name.into(), value(field)?))
    });
    Ok(FieldTable { fields: fields.collect::<Result<_, _>>()? })
}

fn value(field: Field<'_>) -> Result<FieldValue, DecodeError> {
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
        b'D' => FieldValue::Decimal { scale: cursor.octet()?, value: u32::from_be_bytes(cursor.array()?) },
        b'S' => FieldValue::LongString(field.value.into()),
        b'x' => FieldValue::Bytes(field.value.into()),
        b'F' => FieldValue::Table(table(field.value)?),
        b'A' => FieldValue::Array(
            Values::new(field.value).map(|element| value(element?)).collect::<Result<_, _>>()?,
        ),
        b'V' => FieldValue::Void,
        letter => return Err(DecodeError::UnknownFieldType { letter }),
    })
}
