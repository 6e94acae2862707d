//! Decoding field tables. Depth and the count of fields are bounded, and what lies in a table ends with it.

use super::split::{Field, Fields, take_value};
use super::value::{DEPTH_MAX, FIELD_COUNT_MAX, FieldTable, FieldValue};
use crate::amqp::cursor::Cursor;
use crate::amqp::error::DecodeError;

impl FieldTable {
    /// Decodes a table that begins with its size and takes all of `bytes`.
    pub fn decode(bytes: &[u8]) -> Result<FieldTable, DecodeError> {
        let mut cursor = Cursor(bytes);
        let fields = cursor.long_string()?;
        cursor.finish()?;
        decode_table(fields)
    }
}

/// Decodes a table without its size.
pub(in crate::amqp) fn decode_table(fields: &[u8]) -> Result<FieldTable, DecodeError> {
    Decoder { fields_left: FIELD_COUNT_MAX }.table(fields, 1)
}

struct Decoder {
    /// How many more fields there may be.
    fields_left: usize,
}

impl Decoder {
    fn table(&mut self, fields: &[u8], depth: usize) -> Result<FieldTable, DecodeError> {
        let mut table = FieldTable::new();
        for field in Fields::new(fields) {
            let field = field?;
            table.fields.push((field.name.into(), self.value(field, depth)?));
        }
        Ok(table)
    }

    fn array(&mut self, values: &[u8], depth: usize) -> Result<Vec<FieldValue>, DecodeError> {
        let mut array = Vec::new();
        let mut cursor = Cursor(values);
        while !cursor.0.is_empty() {
            let field = take_value(&[], &mut cursor)?;
            array.push(self.value(field, depth)?);
        }
        Ok(array)
    }

    /// The value of a field in a table or an array of that depth.
    fn value(&mut self, field: Field<'_>, depth: usize) -> Result<FieldValue, DecodeError> {
        self.fields_left = self.fields_left.checked_sub(1).ok_or(DecodeError::TooManyFields)?;
        if matches!(field.letter, b'F' | b'A') && depth == DEPTH_MAX {
            return Err(DecodeError::TooDeep);
        }
        let mut cursor = Cursor(field.value);
        Ok(match field.letter {
            b't' => FieldValue::Bool(cursor.octet()? != 0),
            b'b' => FieldValue::I8(i8::from_be_bytes(cursor.array()?)),
            b'B' => FieldValue::U8(cursor.octet()?),
            b's' => FieldValue::I16(i16::from_be_bytes(cursor.array()?)),
            b'u' => FieldValue::U16(u16::from_be_bytes(cursor.array()?)),
            b'I' => FieldValue::I32(i32::from_be_bytes(cursor.array()?)),
            b'i' => FieldValue::U32(u32::from_be_bytes(cursor.array()?)),
            b'l' => FieldValue::I64(i64::from_be_bytes(cursor.array()?)),
            b'L' => FieldValue::U64(u64::from_be_bytes(cursor.array()?)),
            b'f' => FieldValue::F32(f32::from_be_bytes(cursor.array()?)),
            b'd' => FieldValue::F64(f64::from_be_bytes(cursor.array()?)),
            b'T' => FieldValue::Timestamp(u64::from_be_bytes(cursor.array()?)),
            b'D' => {
                FieldValue::Decimal { scale: cursor.octet()?, value: i32::from_be_bytes(cursor.array()?) }
            }
            b'S' => FieldValue::LongString(field.value.into()),
            b'x' => FieldValue::Bytes(field.value.into()),
            b'F' => FieldValue::Table(self.table(field.value, depth + 1)?),
            b'A' => FieldValue::Array(self.array(field.value, depth + 1)?),
            b'V' => FieldValue::Void,
            letter => return Err(DecodeError::UnknownFieldType { letter }),
        })
    }
}
