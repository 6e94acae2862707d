//! `Column`: a field of the API's objects, and its form for people.

use serde_json::{Map, Value};

/// A column of a list: a field of the API, its title, and its unit.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The field's name; points lead into objects, as in `message_stats.publish_details.rate`.
    pub path: &'static str,
    pub title: &'static str,
    pub form: Form,
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON decides on the type.
    Any,
    Bytes,
    PerSecond,
    /// Milliseconds since 1970.
    Time,
}

impl Column {
    pub const fn new(path: &'static str, title: &'static str) -> Column {
        Column { path, title, form: Form::Any }
    }

    pub const fn of(self, form: Form) -> Column {
        Column { form, ..self }
    }
}

/// The value at a path.
pub fn value_at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    // A key may itself have points, which an x-argument's name often has not and a limit's never.
    if let Some(value) = object.get(path) {
        return Some(value);
    }
    let (first, rest) = path.split_once('.')?;
    value_at(object.get(first)?, rest)
}

/// The object with these fields only, each where it was.
pub fn picked(object: &Value, paths: &[String]) -> Value {
    let mut picked = Value::Object(Map::new());
    for path in paths {
        if let Some(value) = value_at(object, path) {
            place(&mut picked, path, value);
        }
    }
    picked
}

fn place(object: &mut Value, path: &str, value: &Value) {
    let Some(fields) = object.as_object_mut() else { return };
    match path.split_once('.') {
        None => drop(fields.insert(path.to_owned(), value.clone())),
        Some((first, rest)) => {
            let inner = fields.entry(first).or_insert_with(|| Value::Object(Map::new()));
            place(inner, rest, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_found_inside_others() {
        let object =
            json!({"name": "q", "message_stats": {"publish": 3, "publish_details": {"rate": 0.5}}, "a.b": 1});
        assert_eq!(value_at(&object, "message_stats.publish_details.rate"), Some(&json!(0.5)));
        assert_eq!(value_at(&object, "a.b"), Some(&json!(1)));
        for missing in ["nothing", "name.x", "message_stats.ack", ""] {
            assert_eq!(value_at(&object, missing), None, "{missing}");
        }
        let paths = ["message_stats.publish", "name", "none"].map(str::to_owned);
        assert_eq!(picked(&object, &paths), json!({"name": "q", "message_stats": {"publish": 3}}));
    }
}
