//! `NamedValue`: NAME=VALUE, as typed. A JSON value has its JSON type; any other value is a string.
//!
//! ```text
//! x-max-length=10        an integer          id="10"            a string
//! ratio=0.5              a double            x-queue-type=quorum   a string
//! x-single-active-consumer=true              zip=0123           a string, for JSON has no such number
//! list=[1,"a"]           an array            empty=             an empty string
//! ```

use std::str::FromStr;

use hairstreak_wire::amqp::{FieldTable, FieldValue, SHORT_STRING_SIZE_MAX};

use super::json::to_value;

/// A header or an argument.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedValue {
    name: String,
    value: FieldValue,
}

impl FromStr for NamedValue {
    type Err = String;

    fn from_str(text: &str) -> Result<NamedValue, String> {
        let Some((name, value)) = text.split_once('=') else {
            return Err("there is no =, as in NAME=VALUE".into());
        };
        if name.is_empty() {
            return Err("there is no name before the =".into());
        }
        Ok(NamedValue { name: short_string(name)?, value: typed(value)? })
    }
}

/// Builds a table. The last of several values with the same name counts.
pub fn table(values: &[NamedValue]) -> FieldTable {
    values.iter().map(|named| (&named.name, named.value.clone())).collect()
}

/// Parses a name or a key, which has at most [`SHORT_STRING_SIZE_MAX`] bytes in AMQP.
pub fn short_string(text: &str) -> Result<String, String> {
    match text.len() {
        0..=SHORT_STRING_SIZE_MAX => Ok(text.to_owned()),
        size => {
            Err(format!("it has {size} bytes, and {SHORT_STRING_SIZE_MAX} are the most that AMQP allows"))
        }
    }
}

fn typed(text: &str) -> Result<FieldValue, String> {
    match serde_json::from_str(text) {
        Ok(json) => to_value(&json),
        // A text that begins like this is meant as JSON, not as a string.
        Err(error) if text.starts_with(['{', '[', '"']) => Err(format!("the value is no JSON: {error}")),
        Err(_) => Ok(text.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_type_that_json_gives_them() {
        let expected: [(&str, FieldValue); 11] = [
            ("10", 10.into()),
            ("-1", (-1).into()),
            ("5000000000", 5_000_000_000_i64.into()),
            ("0.5", 0.5.into()),
            ("true", true.into()),
            ("\"10\"", "10".into()),
            ("quorum", "quorum".into()),
            ("0123", "0123".into()),
            ("", "".into()),
            ("a=b", "a=b".into()),
            ("[1,\"a\"]", vec![FieldValue::I32(1), "a".into()].into()),
        ];
        for (text, value) in expected {
            let named: NamedValue = format!("name={text}").parse().unwrap();
            assert_eq!(named, NamedValue { name: "name".into(), value }, "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let long = format!("{}=1", "n".repeat(256));
        for wrong in ["name", "=1", "name={", "name=\"a", "name=[1", &long, "name=18446744073709551615"] {
            assert!(wrong.parse::<NamedValue>().is_err(), "{wrong}");
        }
    }
}
