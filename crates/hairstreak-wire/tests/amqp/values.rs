//! Random names, values and tables.

use hairstreak_wire::amqp::{FieldTable, FieldValue};
use proptest::collection::vec;
use proptest::prelude::*;

/// The bytes of a short string.
pub fn short_string() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![8 => vec(any::<u8>(), 0..12), 1 => vec(any::<u8>(), 255)]
}

fn bytes() -> impl Strategy<Value = Box<[u8]>> {
    vec(any::<u8>(), 0..40).prop_map(Vec::into_boxed_slice)
}

/// A value that equals itself: no floating point number is NaN.
pub fn value() -> impl Strategy<Value = FieldValue> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(FieldValue::Bool),
        any::<i8>().prop_map(FieldValue::I8),
        any::<u8>().prop_map(FieldValue::U8),
        any::<i16>().prop_map(FieldValue::I16),
        any::<u16>().prop_map(FieldValue::U16),
        any::<i32>().prop_map(FieldValue::I32),
        any::<u32>().prop_map(FieldValue::U32),
        any::<i64>().prop_map(FieldValue::I64),
        prop::num::f32::NORMAL.prop_map(FieldValue::F32),
        prop::num::f64::NORMAL.prop_map(FieldValue::F64),
        (any::<u8>(), any::<u32>()).prop_map(|(scale, value)| FieldValue::Decimal { scale, value }),
        bytes().prop_map(FieldValue::LongString),
        any::<u64>().prop_map(FieldValue::Timestamp),
        Just(FieldValue::Void),
        bytes().prop_map(FieldValue::Bytes),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(FieldValue::Array),
            vec((short_string(), inner), 0..5)
                .prop_map(|fields| fields.into_iter().collect::<FieldTable>().into()),
        ]
    })
}

/// A table of a few fields.
pub fn table() -> impl Strategy<Value = FieldTable> {
    vec((short_string(), value()), 0..6).prop_map(FieldTable::from_iter)
}

/// A table, encoded with its size.
pub fn encoded(table: &FieldTable) -> Vec<u8> {
    let mut bytes = Vec::new();
    table.encode(&mut bytes);
    bytes
}
