//! `settings`: the definition of a policy as it is typed, KEY=VALUE or one JSON object.

use serde_json::{Map, Value};

/// A part of a definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting(Map<String, Value>);

/// Parses `max-length=10`, or `{"max-length": 10}`. A value that is JSON has JSON's meaning; any other is a string.
pub fn setting(text: &str) -> Result<Setting, String> {
    if text.starts_with('{') {
        return serde_json::from_str(text)
            .map(Setting)
            .map_err(|error| format!("it is no JSON object: {error}"));
    }
    let Some((key, value)) = text.split_once('=').filter(|(key, _)| !key.is_empty()) else {
        return Err("it is neither KEY=VALUE nor a JSON object".into());
    };
    let value = match serde_json::from_str(value) {
        Ok(value) => value,
        // A text that begins so is meant as JSON, not as a string.
        Err(error) if value.starts_with(['{', '[', '"']) => {
            return Err(format!("the value is no JSON: {error}"));
        }
        Err(_) => value.into(),
    };
    Ok(Setting(Map::from_iter([(key.to_owned(), value)])))
}

/// The definition that some parts make. The last of several values of a key counts.
pub fn definition(settings: &[Setting]) -> Value {
    settings.iter().flat_map(|Setting(fields)| fields.clone()).collect::<Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_have_the_type_that_json_gives_them() {
        let settings: Vec<Setting> = [
            "max-length=10",
            "overflow=reject-publish",
            "{\"expires\": 5, \"a\": [1]}",
            "x=\"1\"",
            "max-length=11",
        ]
        .map(|text| setting(text).unwrap())
        .into();
        let expected =
            json!({"max-length": 11, "overflow": "reject-publish", "expires": 5, "a": [1], "x": "1"});
        assert_eq!(definition(&settings), expected);
        for wrong in ["", "max-length", "=1", "{", "{1}", "a={", "a=\"x"] {
            assert!(setting(wrong).is_err(), "{wrong}");
        }
    }
}
