//! `Arguments`: the arguments of a declaration, as JSON has them and as the data directory has them.
//!
//! | AMQP | JSON, as RabbitMQ writes it |
//! |---|---|
//! | boolean, void, array, table | true or false, null, array, object |
//! | integer of any size, timestamp | number; back as 64 bits |
//! | float, double | number with a point or an exponent; back as a double |
//! | string, byte array | string |
//! | decimal | number |
//!
//! The data directory has the encoded table, so that every type comes back.

use hairstreak_wire::amqp::{FieldTable, FieldValue, SHORT_STRING_SIZE_MAX};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use serde_json::{Map, Number, Value};

use super::name::Name;

/// The most bytes of an encoded table from JSON: no client could send a larger one in a frame of 131,072 bytes.
pub const TABLE_SIZE_MAX: usize = 131_072 - 8;

/// The arguments of a declaration, a binding, or the definition of a policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments(pub FieldTable);

impl Arguments {
    /// The arguments of an object.
    ///
    /// # Errors
    ///
    /// A value that AMQP does not have, or more than a client could send.
    pub fn from_object(object: &Map<String, Value>) -> Result<Arguments, String> {
        let table = from_json(object)?;
        check(&table)?;
        Ok(Arguments(table))
    }
}

impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return to_json(&self.0).serialize(serializer);
        }
        let mut bytes = Vec::new();
        self.0.encode(&mut bytes);
        Name(bytes.into()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Arguments, D::Error> {
        if !deserializer.is_human_readable() {
            let Name(bytes) = Name::deserialize(deserializer)?;
            return FieldTable::decode(&bytes).map(Arguments).map_err(D::Error::custom);
        }
        match Value::deserialize(deserializer)? {
            Value::Object(object) => Arguments::from_object(&object).map_err(D::Error::custom),
            // Older files have an empty list where there are no arguments.
            Value::Array(list) if list.is_empty() => Ok(Arguments::default()),
            Value::Null => Ok(Arguments::default()),
            other => Err(D::Error::custom(format!("arguments are an object, and not {other}"))),
        }
    }
}

/// The object of a table. The first of several fields with the same name counts.
pub fn to_json(table: &FieldTable) -> Map<String, Value> {
    let mut object = Map::new();
    for (name, value) in table.iter() {
        object.entry(String::from_utf8_lossy(name)).or_insert_with(|| value_to_json(value));
    }
    object
}

fn value_to_json(value: &FieldValue) -> Value {
    match value {
        FieldValue::Bool(value) => (*value).into(),
        FieldValue::Void => Value::Null,
        FieldValue::F32(value) => double(f64::from(*value)),
        FieldValue::F64(value) => double(*value),
        FieldValue::Decimal { scale, value } => double(f64::from(*value) / 10_f64.powi(i32::from(*scale))),
        FieldValue::Timestamp(seconds) => (*seconds).into(),
        FieldValue::Array(values) => values.iter().map(value_to_json).collect(),
        FieldValue::Table(table) => to_json(table).into(),
        FieldValue::Bytes(bytes) | FieldValue::LongString(bytes) => String::from_utf8_lossy(bytes).into(),
        integer => integer.as_i64().into(),
    }
}

/// JSON has no infinity.
fn double(value: f64) -> Value {
    Number::from_f64(value).map_or_else(|| value.to_string().into(), Value::Number)
}

/// Checks that a client could have sent a table, and that the data directory gives it back.
fn check(table: &FieldTable) -> Result<(), String> {
    // JSON lets values lie deeper in each other.
    table.check().map_err(|error| error.to_string())?;
    let mut encoded = Vec::new();
    table.encode(&mut encoded);
    let size = encoded.len() - table.iter().map(|(_, value)| spared_size(value)).sum::<usize>();
    if size > TABLE_SIZE_MAX {
        return Err(format!("the table has {size} bytes, {TABLE_SIZE_MAX} at most may be"));
    }
    Ok(())
}

/// The bytes that a client may have spared: JSON has the numbers of clients with 64 bits each.
fn spared_size(value: &FieldValue) -> usize {
    match value {
        FieldValue::I64(_) => size_of::<i64>() - size_of::<i8>(),
        FieldValue::F64(_) => size_of::<f64>() - size_of::<f32>(),
        FieldValue::Array(values) => values.iter().map(spared_size).sum(),
        FieldValue::Table(table) => table.iter().map(|(_, value)| spared_size(value)).sum(),
        _ => 0,
    }
}

/// The table of an object. An error names the field.
fn from_json(object: &Map<String, Value>) -> Result<FieldTable, String> {
    let mut table = FieldTable::new();
    for (name, value) in object {
        if name.len() > SHORT_STRING_SIZE_MAX {
            return Err(format!("a name has {} bytes, {SHORT_STRING_SIZE_MAX} at most may be", name.len()));
        }
        // The names of an object differ.
        table.push(name, value_from_json(value).map_err(|error| format!("{name}: {error}"))?);
    }
    Ok(table)
}

fn value_from_json(value: &Value) -> Result<FieldValue, String> {
    Ok(match value {
        Value::Null => FieldValue::Void,
        Value::Bool(value) => FieldValue::Bool(*value),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => FieldValue::I64(integer),
            (None, Some(value)) if !number.is_u64() => FieldValue::F64(value),
            _ => return Err(format!("{number} is more than a 64-bit integer with a sign holds")),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(values) => values.iter().map(value_from_json).collect::<Result<Vec<_>, _>>()?.into(),
        Value::Object(object) => from_json(object)?.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_directory_keeps_every_type_and_json_the_values() {
        let mut table = FieldTable::new();
        table.insert("i32", -7);
        table.insert("i64", 1_i64 << 40);
        table.insert("text", "a \u{e4}");
        table.insert("no text", &b"\xff"[..]);
        table.insert("time", FieldValue::Timestamp(1_700_000_000));
        table.insert("list", vec![FieldValue::I32(1), "x".into()]);
        table.insert("table", FieldTable::from_iter([("a", true)]));
        let arguments = Arguments(table);
        let bytes = rmp_serde::to_vec_named(&arguments).unwrap();
        assert_eq!(rmp_serde::from_slice::<Arguments>(&bytes).unwrap(), arguments);
        let json = serde_json::to_string(&arguments).unwrap();
        assert_eq!(
            json,
            "{\"i32\":-7,\"i64\":1099511627776,\"list\":[1,\"x\"],\"no text\":\"\u{fffd}\",\"table\":{\"a\":true},\
             \"text\":\"a \u{e4}\",\"time\":1700000000}"
        );
        let Arguments(back) = serde_json::from_str(&json).unwrap();
        assert_eq!(back.get("i32"), Some(&FieldValue::I64(-7)));
        assert_eq!(serde_json::from_str::<Arguments>("[]").unwrap(), Arguments::default());
        assert!(serde_json::from_str::<Arguments>("[1]").is_err());
        assert!(serde_json::from_str::<Arguments>("{\"a\":18446744073709551615}").is_err());
    }

    #[test]
    fn a_table_from_json_is_one_that_the_data_directory_gives_back() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let read = |depth: usize| {
                let (open, close) = (open.repeat(depth - 1), close.repeat(depth - 1));
                serde_json::from_str::<Arguments>(&format!("{{\"a\":{open}1{close}}}"))
            };
            let arguments = read(64).unwrap();
            let bytes = rmp_serde::to_vec_named(&arguments).unwrap();
            assert_eq!(rmp_serde::from_slice::<Arguments>(&bytes).unwrap(), arguments);
            for depth in [65, 66, 125] {
                let error = read(depth).unwrap_err().to_string();
                assert_eq!(error, "tables and arrays lie deeper in each other than 64", "{depth}");
            }
        }
        let read = |count: usize| {
            serde_json::from_str::<Arguments>(&format!("{{\"a\":[null{}]}}", ",null".repeat(count - 2)))
        };
        assert!(read(65_536).is_ok());
        assert_eq!(read(65_537).unwrap_err().to_string(), "a table has more than 65536 fields");
    }

    #[test]
    fn a_table_from_json_fits_into_a_frame() {
        // Sizes of the table and the string, the name with its size, and the letter of the type.
        let read = |size: usize| {
            let text = "x".repeat(size - (4 + 2 + 1 + 4));
            serde_json::from_str::<Arguments>(&format!("{{\"a\":\"{text}\"}}"))
        };
        assert!(read(TABLE_SIZE_MAX).is_ok());
        assert_eq!(
            read(TABLE_SIZE_MAX + 1).unwrap_err().to_string(),
            "the table has 131065 bytes, 131064 at most may be"
        );
        // The arguments of a client come back from JSON, though JSON has no small numbers.
        for value in [FieldValue::I8(-128), FieldValue::F32(0.1), FieldValue::Bool(false)] {
            let count = if value == FieldValue::F32(0.1) { 26_000 } else { 65_500 };
            let arguments = Arguments(FieldTable::from_iter([("a", vec![value; count])]));
            let json = serde_json::to_string(&arguments).unwrap();
            assert_eq!(
                serde_json::to_string(&serde_json::from_str::<Arguments>(&json).unwrap()).unwrap(),
                json
            );
        }
    }

    /// A comparison of each name with those before it would take half a minute here.
    #[test]
    fn many_names_are_not_compared_with_each_other() {
        let object = |count: usize| (0..count).map(|n| (n.to_string(), Value::Null)).collect::<Map<_, _>>();
        assert_eq!(from_json(&object(200_000)).unwrap().len(), 200_000);
    }
}
