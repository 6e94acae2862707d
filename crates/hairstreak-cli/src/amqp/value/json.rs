//! Field tables and JSON objects. The conversion to JSON and back keeps each value and each table.
//!
//! | AMQP | JSON |
//! |---|---|
//! | boolean, void, string that is UTF-8, array, table | true or false, null, string, array, object |
//! | integer of 32 bits, and of 64 bits where 32 do not hold it | number |
//! | integer of another type | {"$int8": 5}, and so $uint8, $int16, $uint16, $uint32, $int64 |
//! | double | number with a point or an exponent |
//! | float | {"$float": 0.5} |
//! | float or double that is no number of JSON | {"$double": "inf"}, "-inf", "nan", or the bits of another NaN: "0x7ff8000000000001" |
//! | timestamp | {"$timestamp": 1700000000} |
//! | byte array | {"$bytes": "base64"} |
//! | string that is no UTF-8 | {"$string": "base64"} |
//! | decimal | {"$decimal": [scale, digits]} |
//! | table that an object cannot be: its one name begins with $, a name is no UTF-8 or is there twice | {"$table": [[name, value], ...]} |

use std::collections::HashSet;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hairstreak_wire::amqp::{FieldTable, FieldValue, SHORT_STRING_SIZE_MAX};
use serde_json::{Map, Number, Value, json};

/// Base64, read with or without padding.
pub(super) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The single name of an object that stands for a table which no plain object can represent.
const TABLE: &str = "$table";

/// The headers of a message. Their names may begin with $, because an object of headers is always a table.
pub fn from_headers(table: &FieldTable) -> Map<String, Value> {
    match plain_object(table) {
        Some(object) if !(object.len() == 1 && object.contains_key(TABLE)) => object,
        _ => Map::from_iter([(TABLE.to_owned(), pairs(table))]),
    }
}

fn from_table(table: &FieldTable) -> Value {
    let is_special =
        |object: &Map<String, Value>| object.len() == 1 && object.keys().any(|name| name.starts_with('$'));
    match plain_object(table) {
        Some(object) if !is_special(&object) => object.into(),
        _ => json!({TABLE: pairs(table)}),
    }
}

/// The table as an object, if all names are UTF-8 and differ.
fn plain_object(table: &FieldTable) -> Option<Map<String, Value>> {
    let mut names = HashSet::new();
    let field = |(name, value)| {
        let name = std::str::from_utf8(name).ok().filter(|name| names.insert(*name))?;
        Some((name.to_owned(), from_value(value)))
    };
    table.iter().map(field).collect()
}

fn pairs(table: &FieldTable) -> Value {
    table.iter().map(|(name, value)| json!([from_string(name), from_value(value)])).collect()
}

fn from_value(value: &FieldValue) -> Value {
    match value {
        FieldValue::Bool(value) => (*value).into(),
        FieldValue::Void => Value::Null,
        FieldValue::I8(value) => json!({"$int8": value}),
        FieldValue::U8(value) => json!({"$uint8": value}),
        FieldValue::I16(value) => json!({"$int16": value}),
        FieldValue::U16(value) => json!({"$uint16": value}),
        FieldValue::I32(value) => (*value).into(),
        FieldValue::U32(value) => json!({"$uint32": value}),
        FieldValue::I64(value) if i32::try_from(*value).is_ok() => json!({"$int64": value}),
        FieldValue::I64(value) => (*value).into(),
        FieldValue::F32(value) => json!({"$float": from_float(*value)}),
        FieldValue::F64(value) => match Number::from_f64(*value) {
            Some(number) => number.into(),
            None => json!({"$double": unusual(*value, f64::NAN.to_bits(), value.to_bits())}),
        },
        FieldValue::Decimal { scale, value } => json!({"$decimal": [scale, value]}),
        FieldValue::Timestamp(seconds) => json!({"$timestamp": seconds}),
        FieldValue::Array(values) => values.iter().map(from_value).collect(),
        FieldValue::Table(table) => from_table(table),
        FieldValue::Bytes(bytes) => json!({"$bytes": BASE64.encode(bytes)}),
        FieldValue::LongString(bytes) => from_string(bytes),
    }
}

pub fn from_string(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({"$string": BASE64.encode(bytes)}),
    }
}

fn from_float(value: f32) -> Value {
    let number = Number::from_f64(f64::from(value));
    let bits = (f32::NAN.to_bits().into(), value.to_bits().into());
    number.map_or_else(|| unusual(f64::from(value), bits.0, bits.1).into(), Value::Number)
}

/// The text of an infinity or a NaN. `nan` is the NaN with the usual bits.
fn unusual(value: f64, nan_bits: u64, bits: u64) -> String {
    if value.is_nan() && bits != nan_bits { format!("0x{bits:x}") } else { value.to_string().to_lowercase() }
}

/// The headers of an object. Errors name the field.
pub fn to_headers(object: &Map<String, Value>) -> Result<FieldTable, String> {
    match object.get(TABLE) {
        Some(pairs) if object.len() == 1 => to_pairs(pairs),
        _ => to_table(object),
    }
}

fn to_table(object: &Map<String, Value>) -> Result<FieldTable, String> {
    let mut table = FieldTable::new();
    for (name, value) in object {
        table.push(checked_name(name)?, to_value(value).map_err(|error| format!("{name}: {error}"))?);
    }
    Ok(table)
}

/// The table of an array of names and values.
fn to_pairs(value: &Value) -> Result<FieldTable, String> {
    let wrong = || format!("{TABLE} is no array of names and values");
    let mut table = FieldTable::new();
    for pair in value.as_array().ok_or_else(wrong)? {
        let Some([name, value]) = pair.as_array().map(Vec::as_slice) else { return Err(wrong()) };
        let FieldValue::LongString(name) = to_value(name)? else { return Err(wrong()) };
        let value =
            to_value(value).map_err(|error| format!("{}: {error}", String::from_utf8_lossy(&name)))?;
        table.push(checked_name(&name)?, value);
    }
    Ok(table)
}

fn checked_name<N: AsRef<[u8]> + ?Sized>(name: &N) -> Result<&N, String> {
    match name.as_ref().len() {
        0..=SHORT_STRING_SIZE_MAX => Ok(name),
        size => Err(format!("a name has {size} bytes, {SHORT_STRING_SIZE_MAX} at most may be")),
    }
}

pub fn to_value(value: &Value) -> Result<FieldValue, String> {
    Ok(match value {
        Value::Null => FieldValue::Void,
        Value::Bool(value) => FieldValue::Bool(*value),
        Value::Number(number) => to_number(number)?,
        Value::String(text) => text.as_str().into(),
        Value::Array(values) => values.iter().map(to_value).collect::<Result<Vec<_>, _>>()?.into(),
        Value::Object(object) => match object.iter().next() {
            Some((name, pairs)) if object.len() == 1 && name == TABLE => to_pairs(pairs)?.into(),
            Some((name, value)) if object.len() == 1 && name.starts_with('$') => {
                special(name, value).ok_or_else(|| format!("{name} has a value that it cannot have"))?
            }
            _ => to_table(object)?.into(),
        },
    })
}

fn to_number(number: &Number) -> Result<FieldValue, String> {
    match (number.as_i64(), number.as_f64()) {
        (Some(integer), _) => Ok(i32::try_from(integer).map_or(FieldValue::I64(integer), FieldValue::I32)),
        (None, Some(value)) if !number.is_u64() => Ok(FieldValue::F64(value)),
        _ => Err(format!("{number} is more than a 64-bit integer with a sign holds")),
    }
}

fn special(name: &str, value: &Value) -> Option<FieldValue> {
    let bytes = || value.as_str().and_then(|text| BASE64.decode(text).ok()).map(Vec::into_boxed_slice);
    match name {
        "$int8" => value.as_i64()?.try_into().ok().map(FieldValue::I8),
        "$uint8" => value.as_i64()?.try_into().ok().map(FieldValue::U8),
        "$int16" => value.as_i64()?.try_into().ok().map(FieldValue::I16),
        "$uint16" => value.as_i64()?.try_into().ok().map(FieldValue::U16),
        "$uint32" => value.as_i64()?.try_into().ok().map(FieldValue::U32),
        "$int64" => value.as_i64().map(FieldValue::I64),
        "$float" => match value.as_str() {
            None => value.as_f64().map(|value| FieldValue::F32(value as f32)),
            Some(text) => match bits(text) {
                Some(bits) => u32::try_from(bits).ok().map(|bits| FieldValue::F32(f32::from_bits(bits))),
                None => text.parse().ok().map(FieldValue::F32),
            },
        },
        "$double" => match value.as_str() {
            None => value.as_f64().map(FieldValue::F64),
            Some(text) => match bits(text) {
                Some(bits) => Some(FieldValue::F64(f64::from_bits(bits))),
                None => text.parse().ok().map(FieldValue::F64),
            },
        },
        "$timestamp" => value.as_u64().map(FieldValue::Timestamp),
        "$bytes" => bytes().map(FieldValue::Bytes),
        "$string" => bytes().map(FieldValue::LongString),
        "$decimal" => match value.as_array()?.as_slice() {
            [scale, digits] => Some(FieldValue::Decimal {
                scale: scale.as_u64()?.try_into().ok()?,
                value: digits.as_u64()?.try_into().ok()?,
            }),
            _ => None,
        },
        _ => None,
    }
}

/// The bits of a float, as hexadecimal digits.
fn bits(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that conversion to JSON and back keeps the table, apart from the order of names. Encoded bytes compare NaNs as equal.
    fn check(table: &FieldTable) {
        let text = Value::from(from_headers(table)).to_string();
        let object = serde_json::from_str(&text).unwrap();
        let back = to_headers(&object).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(sorted(&back), sorted(table), "{text}");
    }

    fn sorted(table: &FieldTable) -> Vec<u8> {
        let mut bytes = Vec::new();
        in_order(table).encode(&mut bytes);
        bytes
    }

    fn in_order(table: &FieldTable) -> FieldTable {
        let mut fields: Vec<_> = table.iter().map(|(name, value)| (name.to_vec(), value.clone())).collect();
        fields.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut ordered = FieldTable::new();
        for (name, value) in fields {
            ordered.push(name, value_in_order(value));
        }
        ordered
    }

    fn value_in_order(value: FieldValue) -> FieldValue {
        match value {
            FieldValue::Table(table) => in_order(&table).into(),
            FieldValue::Array(values) => values.into_iter().map(value_in_order).collect::<Vec<_>>().into(),
            other => other,
        }
    }

    fn any_value(random: &mut fastrand::Rng, depth: u32) -> FieldValue {
        let bytes = |random: &mut fastrand::Rng| -> Vec<u8> {
            let size = random.usize(..6);
            std::iter::repeat_with(|| random.choice([0, b'a', b'$', 0xc3, 0xa4, 0xff]).unwrap())
                .take(size)
                .collect()
        };
        match random.u8(..if depth == 0 { 15 } else { 17 }) {
            0 => random.bool().into(),
            1 => FieldValue::I8(random.i8(..)),
            2 => FieldValue::U8(random.u8(..)),
            3 => FieldValue::I16(random.i16(..)),
            4 => FieldValue::U16(random.u16(..)),
            5 => FieldValue::I32(random.i32(..)),
            6 => FieldValue::U32(random.u32(..)),
            7 => FieldValue::I64(random.i64(..)),
            8 => FieldValue::I64(random.i64(-9..9)),
            9 => FieldValue::F32(f32::from_bits(random.u32(..))),
            10 => FieldValue::F64(f64::from_bits(random.u64(..))),
            11 => FieldValue::Decimal { scale: random.u8(..), value: random.u32(..) },
            12 => FieldValue::Timestamp(random.u64(..)),
            13 => FieldValue::Void,
            14 if random.bool() => FieldValue::Bytes(bytes(random).into()),
            14 => FieldValue::LongString(bytes(random).into()),
            15 => (0..random.usize(..4)).map(|_| any_value(random, depth - 1)).collect::<Vec<_>>().into(),
            _ => any_table(random, depth - 1).into(),
        }
    }

    fn any_table(random: &mut fastrand::Rng, depth: u32) -> FieldTable {
        let names: [&[u8]; 8] = [b"a", b"b", b"", b"$bytes", b"$table", b"$int8", b"$what", b"\xff"];
        let mut table = FieldTable::new();
        for _ in 0..random.usize(..4) {
            table.push(random.choice(names).unwrap(), any_value(random, depth));
        }
        table
    }

    #[test]
    fn any_table_comes_back_from_json() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..20_000 {
            check(&any_table(&mut random, 3));
        }
    }

    #[test]
    fn values_that_json_has_no_form_for_come_back() {
        for value in
            [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN, -0.0, f64::MIN_POSITIVE / 3.0, f64::MAX]
        {
            check(&FieldTable::from_iter([
                ("double", FieldValue::F64(value)),
                ("float", FieldValue::F32(value as f32)),
            ]));
        }
        for name in ["$bytes", "$table", "$string"] {
            let table = FieldTable::from_iter([(name, "AAE=")]);
            check(&table);
            check(&FieldTable::from_iter([("t", table)]));
        }
        let infinity = FieldTable::from_iter([("a", FieldValue::F64(f64::INFINITY))]);
        assert_eq!(Value::from(from_headers(&infinity)), json!({"a": {"$double": "inf"}}));
    }

    #[test]
    fn usual_integers_are_numbers_and_others_name_their_type() {
        for (value, json) in [
            (FieldValue::I32(5), json!(5)),
            (FieldValue::I64(1 << 40), json!(1_u64 << 40)),
            (FieldValue::I64(5), json!({"$int64": 5})),
            (FieldValue::U8(5), json!({"$uint8": 5})),
        ] {
            assert_eq!(from_value(&value), json);
        }
        assert!(to_value(&u64::MAX.into()).is_err());
    }

    #[test]
    fn objects_that_stand_for_values_are_checked() {
        for wrong in [
            json!({"$bytes": 1}),
            json!({"$timestamp": "x"}),
            json!({"$decimal": [1]}),
            json!({"$what": 1}),
            json!({"$int8": 128}),
            json!({"$uint32": -1}),
            json!({"$float": "0x1ffffffff"}),
            json!({"$double": "x"}),
            json!({"$table": 1}),
            json!({"$table": [["a"]]}),
            json!({"$table": [[1, 1]]}),
        ] {
            assert!(to_value(&wrong).is_err(), "{wrong}");
        }
        assert!(matches!(to_value(&json!({"$bytes": "", "b": 1})), Ok(FieldValue::Table(_))));
    }
}
