//! `Object`: the JSON object of a body, read field by field with RabbitMQ's errors.

use serde_json::{Map, Value};

use crate::http::error::ApiError;

/// Bodies that stand for an object without fields.
const EMPTY: [&[u8]; 3] = [b"", b"null", b"undefined"];
/// RabbitMQ's words for a string that holds an object.
const DOUBLY_ENCODED: &str =
    "invalid payload: the request body JSON-decoded to a string. Is the input doubly-JSON-encoded?";
/// The values that a body may have, those within other values included. A value takes tens of bytes where its text has two.
const VALUE_COUNT_MAX: usize = 1 << 18;
/// The width of a line in which RabbitMQ lists missing keys.
const LINE_WIDTH: usize = 80;

/// The object of a body.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Object(Map<String, Value>);

impl Object {
    /// Reads a body.
    ///
    /// # Errors
    ///
    /// 400: no JSON, no object, or too many values.
    pub(crate) fn parse(body: &[u8]) -> Result<Object, ApiError> {
        if EMPTY.contains(&body) {
            return Ok(Object::default());
        }
        if value_count(body) > VALUE_COUNT_MAX {
            return Err(ApiError::bad_request("too many values"));
        }
        match serde_json::from_slice(body) {
            Ok(Value::Object(fields)) => Ok(Object(fields)),
            Ok(Value::String(_)) => Err(ApiError::bad_request(DOUBLY_ENCODED)),
            _ => Err(ApiError::bad_request("not_json")),
        }
    }

    /// Fails unless all fields are there.
    ///
    /// # Errors
    ///
    /// 400 that lists the missing ones.
    pub(crate) fn require(&self, names: &[&str]) -> Result<(), ApiError> {
        let missing = names.iter().filter(|name| !self.0.contains_key(**name));
        let missing: Vec<String> = missing.map(|name| format!("{{key_missing,{name}}}")).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let line = missing.join(",");
        let text = if line.len() < LINE_WIDTH { line } else { missing.join(",\n ") };
        Err(ApiError::bad_request(format!("[{text}]")))
    }

    /// The value of a field. `null` is a value.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// A boolean, or `"true"` and `"false"`. `None`: the field is missing.
    ///
    /// # Errors
    ///
    /// 400: another value.
    pub(crate) fn boolean(&self, name: &str) -> Result<Option<bool>, ApiError> {
        Ok(Some(match self.0.get(name) {
            None => return Ok(None),
            Some(Value::Bool(value)) => *value,
            Some(Value::String(text)) if text == "true" => true,
            Some(Value::String(text)) if text == "false" => false,
            Some(other) => return Err(ApiError::wrong_field("not_boolean", other.clone())),
        }))
    }

    /// An integer, or its digits in a string. `None`: the field is missing.
    ///
    /// # Errors
    ///
    /// 400: another value.
    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>, ApiError> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        match integer(value) {
            Some(integer) => Ok(Some(integer)),
            None => Err(ApiError::wrong_field("not_integer", value.clone())),
        }
    }

    /// A string, or a number or a boolean as text. `None`: the field is missing.
    ///
    /// # Errors
    ///
    /// 400: another value.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, ApiError> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(Some(value.to_string())),
            Some(other) => Err(ApiError::wrong_field("not_string", other.clone())),
        }
    }

    /// A list of strings, or one string with commas. `None`: the field is missing.
    ///
    /// # Errors
    ///
    /// 400: another value.
    pub(crate) fn words(&self, name: &str) -> Result<Option<Vec<String>>, ApiError> {
        let wrong = |value: &Value| ApiError::wrong_field("not_list", value.clone());
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => {
                let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
                Ok(Some(words.map(str::to_owned).collect()))
            }
            Some(value @ Value::Array(items)) => {
                let word = |item: &Value| item.as_str().map(str::to_owned).ok_or_else(|| wrong(value));
                items.iter().map(word).collect::<Result<_, _>>().map(Some)
            }
            Some(other) => Err(wrong(other)),
        }
    }

    /// An object. A missing field and the empty list, which stands for one in older tools, are one without fields.
    ///
    /// # Errors
    ///
    /// 400: another value.
    pub(crate) fn table(&self, name: &str) -> Result<Map<String, Value>, ApiError> {
        match self.0.get(name) {
            None => Ok(Map::new()),
            Some(Value::Array(items)) if items.is_empty() => Ok(Map::new()),
            Some(Value::Object(fields)) => Ok(fields.clone()),
            Some(other) => Err(ApiError::wrong_field("not_object", other.clone())),
        }
    }
}

/// An integer, or the digits of one in a string.
pub(super) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// The commas, brackets and braces that begin something, outside strings: at least as many values as the text has, less one.
fn value_count(body: &[u8]) -> usize {
    let (mut count, mut is_string, mut is_escaped) = (0, false, false);
    for byte in body {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            b',' | b'[' | b'{' if !is_string => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reason(error: ApiError) -> Value {
        let body = error.into_response().body;
        let super::super::super::response::ResponseBody::Whole(bytes) = body else { panic!("no whole body") };
        serde_json::from_slice::<Value>(&bytes).unwrap()["reason"].clone()
    }

    fn object(text: &str) -> Object {
        Object::parse(text.as_bytes()).unwrap()
    }

    /// The answers of RabbitMQ 3.10.8.
    #[test]
    fn bodies_are_read_as_rabbitmq_reads_them() {
        for text in ["", "null", "undefined", "{}"] {
            assert_eq!(object(text), Object::default(), "{text}");
        }
        let refused = |text: &str| reason(Object::parse(text.as_bytes()).unwrap_err());
        for text in ["{", "[]", "12", "true", "nonsense", "{\"a\":}", "[[[[", "\u{0}"] {
            assert_eq!(refused(text), "not_json", "{text}");
        }
        assert_eq!(refused("\"{}\""), DOUBLY_ENCODED);
    }

    #[test]
    fn missing_keys_are_listed_as_rabbitmq_lists_them() {
        let refused = |names: &[&str]| reason(Object::default().require(names).unwrap_err());
        assert_eq!(
            refused(&["configure", "write", "read"]),
            "[{key_missing,configure},{key_missing,write},{key_missing,read}]"
        );
        assert_eq!(
            refused(&["routing_key", "properties", "payload", "payload_encoding"]),
            "[{key_missing,routing_key},\n {key_missing,properties},\n {key_missing,payload},\n \
             {key_missing,payload_encoding}]"
        );
        assert!(object("{\"a\":null}").require(&["a"]).is_ok());
    }

    #[test]
    fn values_may_be_strings() {
        let fields = object(
            r#"{"yes":"true","no":false,"one":1,"five":"5","below":-1,"half":5.5,"x":"x","nothing":null,"tags":"a, b,,c",
                "list":["a"],"mixed":[1],"none":[]}"#,
        );
        assert_eq!(fields.boolean("yes"), Ok(Some(true)));
        assert_eq!(fields.boolean("no"), Ok(Some(false)));
        assert_eq!(fields.boolean("missing"), Ok(None));
        assert_eq!(reason(fields.boolean("one").unwrap_err()), json!(["not_boolean", 1]));
        assert_eq!(reason(fields.boolean("nothing").unwrap_err()), json!(["not_boolean", null]));
        assert_eq!(fields.integer("five"), Ok(Some(5)));
        assert_eq!(fields.integer("below"), Ok(Some(-1)));
        assert_eq!(reason(fields.integer("x").unwrap_err()), json!(["not_integer", "x"]));
        assert_eq!(reason(fields.integer("half").unwrap_err()), json!(["not_integer", 5.5]));
        assert_eq!(fields.text("one"), Ok(Some("1".into())));
        assert_eq!(reason(fields.text("list").unwrap_err()), json!(["not_string", ["a"]]));
        assert_eq!(fields.words("tags"), Ok(Some(vec!["a".into(), "b".into(), "c".into()])));
        assert_eq!(fields.words("list"), Ok(Some(vec!["a".into()])));
        assert!(fields.words("mixed").is_err() && fields.words("one").is_err());
        assert_eq!(fields.table("none"), Ok(Map::new()));
        assert_eq!(fields.table("missing"), Ok(Map::new()));
        assert!(fields.table("list").is_err() && fields.table("x").is_err());
    }

    #[test]
    fn a_body_has_a_bounded_number_of_values() {
        let list = |item: &str, count: usize| format!("{{\"a\":[{}0]}}", format!("{item},").repeat(count));
        for (item, value_count) in [("0", 1), ("[]", 2), ("{}", 2), ("[[[]]]", 4)] {
            // The object and the list are values, too.
            let count_max = (VALUE_COUNT_MAX - 2) / value_count;
            assert!(Object::parse(list(item, count_max).as_bytes()).is_ok(), "{item}");
            let refused = Object::parse(list(item, count_max + 1).as_bytes()).unwrap_err();
            assert_eq!(reason(refused), "too many values", "{item}");
        }
        let commas = format!("{{\"a\":\"\\\"{}\"}}", ",".repeat(2 * VALUE_COUNT_MAX));
        assert!(Object::parse(commas.as_bytes()).is_ok());
    }
}
