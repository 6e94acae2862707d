//! `Fields`: the fields of a JSON object, read in each form that RabbitMQ reads. Bodies of HTTP and items of files share these readers.

use serde_json::{Map, Value};
use thiserror::Error;

use super::arguments::Arguments;
use super::types::Limits;

/// The most characters of a value in an error.
const SHOWN_SIZE_MAX: usize = 100;

/// The fields of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(pub Map<String, Value>);

/// A field has a value of a wrong type.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{name}: {}: {}", .problem.replace('_', " "), shown(.value))]
pub struct FieldError {
    /// The name.
    pub name: String,
    /// RabbitMQ's word, such as `not_boolean`.
    pub problem: &'static str,
    /// The value.
    pub value: Value,
}

impl From<FieldError> for String {
    fn from(error: FieldError) -> String {
        error.to_string()
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_SIZE_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

impl Fields {
    /// The value of a field. `null` is a value.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// A boolean, or `"true"` and `"false"`. `None`: the field is missing.
    ///
    /// # Errors
    ///
    /// Another value.
    pub fn boolean(&self, name: &str) -> Result<Option<bool>, FieldError> {
        Ok(Some(match self.0.get(name) {
            None => return Ok(None),
            Some(Value::Bool(value)) => *value,
            Some(Value::String(text)) if text == "true" => true,
            Some(Value::String(text)) if text == "false" => false,
            Some(other) => return Err(self.wrong(name, "not_boolean", other)),
        }))
    }

    /// An integer, or its digits in a string. `None`: the field is missing.
    ///
    /// # Errors
    ///
    /// Another value.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, FieldError> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        match integer(value) {
            Some(integer) => Ok(Some(integer)),
            None => Err(self.wrong(name, "not_integer", value)),
        }
    }

    /// A string, or a number or a boolean as text. `None`: the field is missing.
    ///
    /// # Errors
    ///
    /// Another value.
    pub fn text(&self, name: &str) -> Result<Option<String>, FieldError> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(Some(value.to_string())),
            Some(other) => Err(self.wrong(name, "not_string", other)),
        }
    }

    /// A list of strings, or one string with commas. `None`: the field is missing.
    ///
    /// # Errors
    ///
    /// Another value.
    pub fn words(&self, name: &str) -> Result<Option<Vec<String>>, FieldError> {
        let wrong = |value: &Value| self.wrong(name, "not_list", value);
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

    /// An object. A missing field is an empty object, and so is the empty list, which older tools write in its place.
    ///
    /// # Errors
    ///
    /// Another value.
    pub fn table(&self, name: &str) -> Result<Map<String, Value>, FieldError> {
        match self.0.get(name) {
            None => Ok(Map::new()),
            Some(Value::Array(items)) if items.is_empty() => Ok(Map::new()),
            Some(Value::Object(fields)) => Ok(fields.clone()),
            Some(other) => Err(self.wrong(name, "not_object", other)),
        }
    }

    /// Returns a text that must be present.
    pub(super) fn needed(&self, name: &str) -> Result<String, String> {
        self.text(name)?.ok_or_else(|| format!("no {name}"))
    }

    pub(super) fn needed_boolean(&self, name: &str) -> Result<bool, String> {
        self.boolean(name)?.ok_or_else(|| format!("no {name}"))
    }

    pub(super) fn needed_value(&self) -> Result<Value, String> {
        self.get("value").cloned().ok_or_else(|| "no value".into())
    }

    pub(super) fn arguments(&self, name: &str) -> Result<Arguments, String> {
        Arguments::from_object(&self.table(name)?).map_err(|reason| format!("{name}: {reason}"))
    }

    /// Limits are an object, or a list of names and values.
    pub(super) fn limits(&self) -> Result<Limits, String> {
        let limit = |name: &str, value: &Value| {
            integer(value)
                .map(|limit| (name.to_owned(), limit))
                .ok_or_else(|| format!("limits: {name}: not an integer"))
        };
        match self.get("limits") {
            None => Ok(Limits::new()),
            Some(Value::Object(limits)) => limits.iter().map(|(name, value)| limit(name, value)).collect(),
            Some(Value::Array(list)) => {
                let pairs =
                    list.iter().filter_map(|item| Some((item.get("name")?.as_str()?, item.get("value")?)));
                pairs.map(|(name, value)| limit(name, value)).collect()
            }
            Some(_) => Err("limits: not an object".into()),
        }
    }

    fn wrong(&self, name: &str, problem: &'static str, value: &Value) -> FieldError {
        FieldError { name: name.into(), problem, value: value.clone() }
    }
}

/// An integer, or a string of the digits of an integer.
pub fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(text: &str) -> Fields {
        Fields(serde_json::from_str(text).unwrap())
    }

    fn problem(error: FieldError) -> (&'static str, Value) {
        (error.problem, error.value)
    }

    #[test]
    fn values_may_be_strings() {
        let fields = fields(
            r#"{"yes":"true","no":false,"one":1,"five":"5","below":-1,"half":5.5,"x":"x","nothing":null,"tags":"a, b,,c",
                "list":["a"],"mixed":[1],"none":[]}"#,
        );
        assert_eq!(fields.boolean("yes"), Ok(Some(true)));
        assert_eq!(fields.boolean("no"), Ok(Some(false)));
        assert_eq!(fields.boolean("missing"), Ok(None));
        assert_eq!(problem(fields.boolean("one").unwrap_err()), ("not_boolean", json!(1)));
        assert_eq!(problem(fields.boolean("nothing").unwrap_err()), ("not_boolean", json!(null)));
        assert_eq!(fields.integer("five"), Ok(Some(5)));
        assert_eq!(fields.integer("below"), Ok(Some(-1)));
        assert_eq!(problem(fields.integer("x").unwrap_err()), ("not_integer", json!("x")));
        assert_eq!(problem(fields.integer("half").unwrap_err()), ("not_integer", json!(5.5)));
        assert_eq!(fields.text("one"), Ok(Some("1".into())));
        assert_eq!(problem(fields.text("list").unwrap_err()), ("not_string", json!(["a"])));
        assert_eq!(fields.words("tags"), Ok(Some(vec!["a".into(), "b".into(), "c".into()])));
        assert_eq!(fields.words("list"), Ok(Some(vec!["a".into()])));
        assert!(fields.words("mixed").is_err() && fields.words("one").is_err());
        assert_eq!(fields.table("none"), Ok(Map::new()));
        assert_eq!(fields.table("missing"), Ok(Map::new()));
        assert!(fields.table("list").is_err() && fields.table("x").is_err());
    }

    #[test]
    fn an_error_names_the_field_and_the_beginning_of_its_value() {
        let fields = fields(&json!({"a": {}, "b": "\u{e4}".repeat(500)}).to_string());
        assert_eq!(fields.boolean("a").unwrap_err().to_string(), "a: not boolean: {}");
        let long = fields.boolean("b").unwrap_err().to_string();
        assert_eq!((long.chars().count(), long.ends_with("...")), (119, true), "{long}");
    }
}
