//! Encoding of field tables.

use super::value::{FieldTable, FieldValue};
use crate::amqp::strings::{put_long_string, put_short_string, put_sized};

impl FieldTable {
    /// Appends the table, its size first.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_sized(out, |out| self.encode_fields(out));
    }

    /// Appends the fields without the size of the table.
    pub fn encode_fields(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|(name, value)| value.encode_field(name, out));
    }
}

impl FieldValue {
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
