//! Encoding field tables.

use super::value::{FieldTable, FieldValue};
use crate::amqp::strings::{put_long_string, put_short_string, put_sized};

impl FieldTable {
    /// Appends the table, its size first.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_sized(out, |out| self.encode_fields(out));
    }

    /// Appends the fields alone, without a size.
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
        let mut put = |letter: u8, bytes: &[u8]| {
            out.push(letter);
            out.extend_from_slice(bytes);
        };
        match self {
            FieldValue::Bool(value) => put(b't', &[u8::from(*value)]),
            FieldValue::I8(value) => put(b'b', &value.to_be_bytes()),
            FieldValue::U8(value) => put(b'B', &value.to_be_bytes()),
            FieldValue::I16(value) => put(b's', &value.to_be_bytes()),
            FieldValue::U16(value) => put(b'u', &value.to_be_bytes()),
            FieldValue::I32(value) => put(b'I', &value.to_be_bytes()),
            FieldValue::U32(value) => put(b'i', &value.to_be_bytes()),
            FieldValue::I64(value) => put(b'l', &value.to_be_bytes()),
            FieldValue::F32(value) => put(b'f', &value.to_be_bytes()),
            FieldValue::F64(value) => put(b'd', &value.to_be_bytes()),
            FieldValue::Timestamp(value) => put(b'T', &value.to_be_bytes()),
            FieldValue::Decimal { scale, value } => {
                put(b'D', &[*scale]);
                out.extend_from_slice(&value.to_be_bytes());
            }
            FieldValue::Void => put(b'V', &[]),
            FieldValue::LongString(bytes) => {
                put(b'S', &[]);
                put_long_string(bytes, out);
            }
            FieldValue::Bytes(bytes) => {
                put(b'x', &[]);
                put_long_string(bytes, out);
            }
            FieldValue::Table(table) => {
                put(b'F', &[]);
                table.encode(out);
            }
            FieldValue::Array(values) => {
                put(b'A', &[]);
                put_sized(out, |out| values.iter().for_each(|value| value.encode(out)));
            }
        }
    }
}
