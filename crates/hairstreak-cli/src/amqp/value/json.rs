//! Field tables and JSON objects.
//!
//! | AMQP | JSON |
//! |---|---|
//! | boolean, void, string that is UTF-8, array, table | true or false, null, string, array, object |
//! | integer of any size | number; back as 32 bits if they hold it, else 64 |
//! | float, double | number with a point or an exponent; back as a double |
//! | timestamp | {"$timestamp": 1700000000} |
//! | byte array | {"$bytes": "base64"} |
//! | string that is no UTF-8 | {"$string": "base64"} |
//! | decimal | {"$decimal": [scale, digits]} |

use hairstreak_wire::amqp::{FieldTable, FieldValue, SHORT_STRING_SIZE_MAX};
use serde_json::{Map, Number, Value, json};

use crate::base64;

pub fn from_table(table: &FieldTable) -> Map<String, Value> {
    // The first of several fields with the same name counts.
    let mut object = Map::new();
    for (name, value) in table.iter() {
        object.entry(String::from_utf8_lossy(name)).or_insert_with(|| from_value(value));
    }
    object
}

fn from_value(value: &FieldValue) -> Value {
    match value {
        FieldValue::Bool(value) => (*value).into(),
        FieldValue::Void => Value::Null,
        FieldValue::F32(value) => double(f64::from(*value)),
        FieldValue::F64(value) => double(*value),
        FieldValue::Decimal { scale, value } => json!({"$decimal": [scale, value]}),
        FieldValue::Timestamp(seconds) => json!({"$timestamp": seconds}),
        FieldValue::Array(values) => values.iter().map(from_value).collect(),
        FieldValue::Table(table) => from_table(table).into(),
        FieldValue::Bytes(bytes) => json!({"$bytes": base64::encode(bytes)}),
        FieldValue::LongString(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => json!({"$string": base64::encode(bytes)}),
        },
        integer => integer.as_i64().into(),
    }
}

/// JSON has no infinity.
fn double(value: f64) -> Value {
    Number::from_f64(value).map_or_else(|| value.to_string().into(), Value::Number)
}

/// The table of an object. Errors name the field.
pub fn to_table(object: &Map<String, Value>) -> Result<FieldTable, String> {
    let mut table = FieldTable::new();
    for (name, value) in object {
        if name.len() > SHORT_STRING_SIZE_MAX {
            return Err(format!("a name has {} bytes, {SHORT_STRING_SIZE_MAX} at most may be", name.len()));
        }
        table.insert(name, to_value(value).map_err(|error| format!("{name}: {error}"))?);
    }
    Ok(table)
}

pub fn to_value(value: &Value) -> Result<FieldValue, String> {
    Ok(match value {
        Value::Null => FieldValue::Void,
        Value::Bool(value) => FieldValue::Bool(*value),
        Value::Number(number) => to_number(number)?,
        Value::String(text) => text.as_str().into(),
        Value::Array(values) => values.iter().map(to_value).collect::<Result<Vec<_>, _>>()?.into(),
        Value::Object(object) => match object.iter().next() {
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
    let bytes = || value.as_str().and_then(base64::decode).map(Vec::into_boxed_slice);
    match name {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_come_back_from_json() {
        let mut table = FieldTable::new();
        table.insert("bool", true);
        table.insert("i32", -7);
        table.insert("i64", 1_i64 << 40);
        table.insert("f64", 0.5);
        table.insert("text", "a \u{e4}");
        table.insert("string", &b"\xff"[..]);
        table.insert("bytes", FieldValue::Bytes(b"ab".to_vec().into()));
        table.insert("time", FieldValue::Timestamp(1_700_000_000));
        table.insert("decimal", FieldValue::Decimal { scale: 2, value: 314 });
        table.insert("void", FieldValue::Void);
        table.insert("array", vec![FieldValue::I32(1), "x".into()]);
        table.insert("table", FieldTable::from_iter([("a", 1)]));
        let object = from_table(&table);
        let back = to_table(&object).unwrap();
        // JSON objects have an order of their own.
        assert_eq!((back.len(), table.len()), (12, 12));
        table.iter().for_each(|(name, value)| assert_eq!(back.get(name), Some(value)));
    }

    #[test]
    fn integers_of_any_size_are_numbers() {
        for value in
            [FieldValue::I8(5), FieldValue::U8(5), FieldValue::I16(5), FieldValue::U32(5), FieldValue::I64(5)]
        {
            assert_eq!(from_value(&value), 5);
        }
        assert!(to_value(&u64::MAX.into()).is_err());
    }

    #[test]
    fn objects_that_stand_for_values_are_checked() {
        for wrong in
            [json!({"$bytes": 1}), json!({"$timestamp": "x"}), json!({"$decimal": [1]}), json!({"$what": 1})]
        {
            assert!(to_value(&wrong).is_err(), "{wrong}");
        }
        assert!(matches!(to_value(&json!({"$bytes": "", "b": 1})), Ok(FieldValue::Table(_))));
    }
}
