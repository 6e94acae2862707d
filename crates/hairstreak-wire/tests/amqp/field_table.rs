//! Field tables: literal bytes of every type, bounds, equivalence, round trips.

use hairstreak_wire::amqp::{
    DEPTH_MAX, DecodeError, FIELD_COUNT_MAX, Field, FieldTable, FieldValue, Fields, Values,
};
use proptest::prelude::*;

use crate::values::{encoded, table};

/// A table with one field `k`, whose type letter and value are `bytes`.
fn table_of(bytes: &[u8]) -> Vec<u8> {
    let size = bytes.len() as u32 + 2;
    [&size.to_be_bytes(), &b"\x01k"[..], bytes].concat()
}

fn check(bytes: &[u8], value: FieldValue) {
    let table = FieldTable::from_iter([("k", value)]);
    assert_eq!(encoded(&table), table_of(bytes));
    assert_eq!(FieldTable::decode(&table_of(bytes)), Ok(table));
}

#[test]
fn every_type_has_the_letter_and_the_bytes_of_rabbitmq() {
    check(b"t\x01", FieldValue::Bool(true));
    check(b"t\x00", FieldValue::Bool(false));
    check(b"b\xff", FieldValue::I8(-1));
    check(b"B\xff", FieldValue::U8(255));
    check(b"s\xff\xfe", FieldValue::I16(-2));
    check(b"u\xff\xfe", FieldValue::U16(0xfffe));
    check(b"I\xff\xff\xff\xfd", FieldValue::I32(-3));
    check(b"i\xff\xff\xff\xfd", FieldValue::U32(0xffff_fffd));
    check(b"l\xff\xff\xff\xff\xff\xff\xff\xfc", FieldValue::I64(-4));
    check(b"f\x3f\x80\x00\x00", FieldValue::F32(1.0));
    check(b"d\x3f\xf0\x00\x00\x00\x00\x00\x00", FieldValue::F64(1.0));
    check(b"D\x02\x00\x00\x01\x3a", FieldValue::Decimal { scale: 2, value: 314 });
    check(b"S\x00\x00\x00\x02hi", FieldValue::LongString((*b"hi").into()));
    check(b"x\x00\x00\x00\x02hi", FieldValue::Bytes((*b"hi").into()));
    check(b"T\x00\x00\x00\x00\x00\x00\x00\x09", FieldValue::Timestamp(9));
    check(b"V", FieldValue::Void);
    check(b"A\x00\x00\x00\x03Vt\x01", FieldValue::Array(vec![FieldValue::Void, FieldValue::Bool(true)]));
    check(b"F\x00\x00\x00\x03\x01nV", FieldTable::from_iter([("n", FieldValue::Void)]).into());
}

#[test]
fn capital_l_is_a_signed_integer_as_in_rabbitmq() {
    let table = FieldTable::decode(&table_of(b"L\xff\xff\xff\xff\xff\xff\xff\xff")).unwrap();
    assert_eq!(table.get("k"), Some(&FieldValue::I64(-1)));
}

#[test]
fn other_letters_are_refused_in_tables_and_in_arrays() {
    for letter in (0..=u8::MAX).filter(|letter| !b"tbBsuIilLfdDSATFVx".contains(letter)) {
        let error = Err(DecodeError::UnknownFieldType { letter });
        assert_eq!(FieldTable::decode(&table_of(&[letter, 0, 0, 0, 0])), error);
        assert_eq!(FieldTable::decode(&table_of(&[b'A', 0, 0, 0, 1, letter])), error);
    }
}

#[test]
fn a_table_takes_all_of_its_bytes() {
    assert_eq!(FieldTable::decode(b"\0\0\0\0\0"), Err(DecodeError::Surplus { size: 1 }));
    assert_eq!(FieldTable::decode(b"\0\0\0\x01"), Err(DecodeError::Cut));
    assert_eq!(FieldTable::decode(b"\0\0\0\x01\x05"), Err(DecodeError::CutTable));
    assert_eq!(FieldTable::decode(&table_of(b"S\xff\xff\xff\xff")), Err(DecodeError::CutTable));
    assert_eq!(FieldTable::decode(&table_of(b"A\0\0\0\x01t")), Err(DecodeError::CutTable));
}

fn nested(depth: usize) -> FieldTable {
    (1..depth).fold(FieldTable::new(), |inner, _| FieldTable::from_iter([("n", inner)]))
}

#[test]
fn tables_lie_in_each_other_up_to_the_limit() {
    let deepest = encoded(&nested(DEPTH_MAX));
    assert_eq!(FieldTable::decode(&deepest), Ok(nested(DEPTH_MAX)));
    assert_eq!(FieldTable::decode(&encoded(&nested(DEPTH_MAX + 1))), Err(DecodeError::TooDeep));
    assert_eq!(FieldTable::decode(&encoded(&nested(500))), Err(DecodeError::TooDeep));
    let mut arrays = FieldValue::Void;
    for _ in 0..DEPTH_MAX {
        arrays = FieldValue::Array(vec![arrays]);
    }
    assert_eq!(
        FieldTable::decode(&encoded(&FieldTable::from_iter([("a", arrays)]))),
        Err(DecodeError::TooDeep)
    );
}

#[test]
fn fields_are_counted_up_to_the_limit_wherever_they_lie() {
    // The field itself counts, too.
    for (count, is_decoded) in [(FIELD_COUNT_MAX - 1, true), (FIELD_COUNT_MAX, false)] {
        let array = FieldValue::Array(vec![FieldValue::Void; count]);
        let decoded = FieldTable::decode(&encoded(&FieldTable::from_iter([("a", array)])));
        assert_eq!(decoded.is_ok(), is_decoded);
        assert!(decoded.is_ok() || decoded == Err(DecodeError::TooManyFields));
    }
}

#[test]
fn fields_are_found_replaced_and_removed_by_name() {
    let mut table = FieldTable::new();
    assert!(table.is_empty());
    table.insert("x-max-length", 10);
    table.insert("x-overflow", "drop-head");
    table.insert("x-max-length", 11_i64);
    assert_eq!(table.len(), 2);
    assert_eq!(table.iter().map(|(name, _)| name).collect::<Vec<_>>(), [&b"x-max-length"[..], b"x-overflow"]);
    assert_eq!(table.get("x-max-length").and_then(FieldValue::as_i64), Some(11));
    assert_eq!(table.remove("x-overflow").as_ref().and_then(FieldValue::as_bytes), Some(&b"drop-head"[..]));
    assert_eq!(table.remove("x-overflow"), None);
    assert_eq!(table.get("x-overflow"), None);
}

#[test]
fn the_first_of_two_fields_with_one_name_counts() {
    let bytes = b"\0\0\0\x08\x01kt\x01\x01kt\0";
    let mut table = FieldTable::decode(bytes).unwrap();
    assert_eq!(encoded(&table), bytes);
    assert_eq!(table.get("k").and_then(FieldValue::as_bool), Some(true));
    table.remove("k");
    assert!(table.is_empty());
}

#[test]
fn values_are_equivalent_across_the_sizes_of_a_number_and_not_across_types() {
    let integers = [
        FieldValue::I8(7),
        FieldValue::U8(7),
        FieldValue::I16(7),
        FieldValue::U16(7),
        FieldValue::I32(7),
        FieldValue::U32(7),
        FieldValue::I64(7),
    ];
    let others = [
        FieldValue::I64(8),
        FieldValue::F64(7.0),
        FieldValue::Timestamp(7),
        FieldValue::from("7"),
        FieldValue::Bytes((*b"7").into()),
        FieldValue::Bool(true),
        FieldValue::Void,
    ];
    for integer in &integers {
        assert!(integers.iter().all(|other| integer.is_equivalent(other)));
        assert!(others.iter().all(|other| !integer.is_equivalent(other) && !other.is_equivalent(integer)));
    }
    assert!(FieldValue::F32(0.5).is_equivalent(&FieldValue::F64(0.5)));
    assert!(FieldValue::from("7").is_equivalent(&FieldValue::from("7")));
    assert!(!FieldValue::from("7").is_equivalent(&FieldValue::Bytes((*b"7").into())));
}

/// The results of `Fields` and `Values` for a table, against its decoded fields.
fn check_split<'a>(
    split: impl Iterator<Item = Result<Field<'a>, DecodeError>>,
    decoded: &[(&[u8], &FieldValue)],
) {
    let split: Vec<_> = split.collect::<Result<_, _>>().unwrap();
    assert_eq!(split.len(), decoded.len());
    for (field, (name, value)) in split.iter().zip(decoded) {
        assert_eq!(field.name, *name);
        assert_eq!(field.as_bytes(), value.as_bytes());
        match value {
            FieldValue::Table(table) => {
                check_split(Fields::new(field.value), &table.iter().collect::<Vec<_>>());
            }
            FieldValue::Array(values) => {
                let values: Vec<_> = values.iter().map(|value| (&b""[..], value)).collect();
                check_split(Values::new(field.value), &values);
            }
            _ => {}
        }
    }
}

proptest! {
    #[test]
    fn tables_come_back_as_they_were_encoded(table in table()) {
        let bytes = encoded(&table);
        prop_assert_eq!(FieldTable::decode(&bytes), Ok(table.clone()));
        check_split(Fields::new(&bytes[4..]), &table.iter().collect::<Vec<_>>());
        for value in table.iter().map(|(_, value)| value) {
            prop_assert!(value.is_equivalent(value));
        }
    }
}
