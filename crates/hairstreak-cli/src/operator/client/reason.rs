//! `reason`: the text of an error of the API, as one line.
//!
//! RabbitMQ answers `{"error": "bad_request", "reason": ...}`. Its reason is a text, sometimes with lines and with
//! HTML's escapes, or an Erlang term: a list of words, of lists, and of texts that are lists of characters.

use serde_json::Value;

/// The reason in the body of an error.
pub fn reason(body: &Value) -> String {
    let said = ["reason", "error"]
        .into_iter()
        .find_map(|key| body.get(key).map(term))
        .filter(|said| !said.is_empty());
    said.unwrap_or_else(|| body.to_string())
}

fn term(value: &Value) -> String {
    match value {
        Value::String(text) => plain(text),
        Value::Array(elements) => match characters(elements) {
            Some(text) => format!("'{}'", plain(&text)),
            None => elements.iter().map(term).collect::<Vec<_>>().join(" "),
        },
        other => other.to_string(),
    }
}

/// A text in one line, without HTML's escapes.
fn plain(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let escapes = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    escapes.iter().fold(words, |words, (escape, character)| words.replace(escape, character))
}

/// The text of a list of printable characters.
fn characters(elements: &[Value]) -> Option<String> {
    let character = |element: &Value| {
        let code = u32::try_from(element.as_u64()?).ok()?;
        char::from_u32(code).filter(|character| *character >= ' ')
    };
    elements.iter().map(character).collect::<Option<String>>().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reasons_are_one_line() {
        for (body, expected) in [
            (json!({"error": "bad_request", "reason": "no"}), "no"),
            (json!({"error": "Object Not Found"}), "Object Not Found"),
            (
                json!({"reason": "Validation failed\n\n[{&lt;&lt;\"a\"&gt;&gt;,1}]\n"}),
                "Validation failed [{<<\"a\">>,1}]",
            ),
            (json!({"reason": ["invalid_regexp", [40], [[109, 105, 115], 1]]}), "invalid_regexp '(' 'mis' 1"),
            (json!({"reason": ["no_such_vhost", "undefined"]}), "no_such_vhost undefined"),
            (json!({"reason": ""}), "{\"reason\":\"\"}"),
            (json!({"other": 1}), "{\"other\":1}"),
        ] {
            assert_eq!(reason(&body), expected);
        }
    }
}
