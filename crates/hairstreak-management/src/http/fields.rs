//! The fields of a body: a JSON object, with RabbitMQ's errors, or a form.
//!
//! - `parse_object`: the object, whose fields `definitions` reads
//! - `part`: a part of a body of type `multipart/form-data` (RFC 7578), as browsers and older tools upload definitions

use hairstreak_node::definitions::{Fields, JsonText};
use serde_json::Value;

use super::error::ApiError;

/// Bodies that stand for an object without fields.
const EMPTY: [&[u8]; 3] = [b"", b"null", b"undefined"];
/// RabbitMQ's words for a string that holds an object.
const DOUBLY_ENCODED: &str =
    "invalid payload: the request body JSON-decoded to a string. Is the input doubly-JSON-encoded?";
/// The values that a body may have, those within other values included. A value takes tens of bytes where its text has two.
const VALUE_COUNT_MAX: usize = 1 << 18;
/// The width of a line in which RabbitMQ lists missing keys.
const LINE_WIDTH: usize = 80;

/// Reads the object of a body.
///
/// # Errors
///
/// 400: no JSON, no object, or too many values.
pub(crate) fn parse_object(body: &[u8]) -> Result<Fields, ApiError> {
    if EMPTY.contains(&body) {
        return Ok(Fields::default());
    }
    let text = JsonText::new(body);
    if value_count(text.bytes()) > VALUE_COUNT_MAX {
        return Err(ApiError::bad_request("too many values"));
    }
    match serde_json::from_slice(text.bytes()) {
        Ok(Value::Object(fields)) => Ok(Fields(fields)),
        Ok(Value::String(_)) => Err(ApiError::bad_request(DOUBLY_ENCODED)),
        Ok(_) => Err(ApiError::bad_request("not_json")),
        Err(error) => Err(ApiError::bad_request(format!("not_json: {}", text.explain(&error)))),
    }
}

/// Checks that all fields are there.
///
/// # Errors
///
/// 400 that lists the missing ones.
pub(crate) fn require(fields: &Fields, names: &[&str]) -> Result<(), ApiError> {
    let missing = names.iter().filter(|name| fields.get(name).is_none());
    let missing: Vec<String> = missing.map(|name| format!("{{key_missing,{name}}}")).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let line = missing.join(",");
    let text = if line.len() < LINE_WIDTH { line } else { missing.join(",\n ") };
    Err(ApiError::bad_request(format!("[{text}]")))
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

/// The parts that are looked at.
const PART_COUNT_MAX: usize = 16;

/// The boundary of a body with this content type. `None`: the type is another one.
pub(crate) fn boundary(content_type: &str) -> Option<&str> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let value = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then_some(value.trim())
    })?;
    let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    (!value.is_empty()).then_some(value)
}

/// The content of the part with that name. `None`: there is none, or the body is malformed.
pub(crate) fn part<'a>(body: &'a [u8], boundary: &str, name: &str) -> Option<&'a [u8]> {
    let delimiter = format!("--{boundary}");
    let mut rest = if body.starts_with(delimiter.as_bytes()) {
        &body[delimiter.len()..]
    } else {
        split(body, format!("\r\n{delimiter}").as_bytes())?.1
    };
    for _ in 0..PART_COUNT_MAX {
        // The last delimiter has two hyphens behind it.
        let inside = rest.strip_prefix(b"\r\n")?;
        let (content, behind) = split(inside, format!("\r\n{delimiter}").as_bytes())?;
        let (head, value) = match content.strip_prefix(b"\r\n") {
            Some(value) => (&b""[..], value),
            None => split(content, b"\r\n\r\n")?,
        };
        if is_named(head, name) {
            return Some(value);
        }
        rest = behind;
    }
    None
}

/// The bytes before and behind the first `delimiter`.
fn split<'a>(bytes: &'a [u8], delimiter: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = bytes.windows(delimiter.len()).position(|window| window == delimiter)?;
    Some((&bytes[..at], &bytes[at + delimiter.len()..]))
}

/// Returns `true` if the headers of a part contain that name.
fn is_named(head: &[u8], name: &str) -> bool {
    let Ok(head) = std::str::from_utf8(head) else { return false };
    head.lines().any(|line| {
        let Some((header, parameters)) = line.split_once(':') else { return false };
        header.trim().eq_ignore_ascii_case("content-disposition")
            && parameters.split(';').any(|parameter| {
                parameter.trim().split_once('=').is_some_and(|(key, value)| {
                    key.trim().eq_ignore_ascii_case("name") && value.trim().trim_matches('"') == name
                })
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::response::ResponseBody;

    fn reason(error: ApiError) -> Value {
        let body = error.into_response().body;
        let ResponseBody::Whole(bytes) = body else { panic!("no whole body") };
        serde_json::from_slice::<Value>(&bytes).unwrap()["reason"].clone()
    }

    fn object(text: &str) -> Fields {
        parse_object(text.as_bytes()).unwrap()
    }

    /// The answers of RabbitMQ 3.10.8.
    #[test]
    fn bodies_are_read_as_rabbitmq_reads_them() {
        for text in ["", "null", "undefined", "{}"] {
            assert_eq!(object(text), Fields::default(), "{text}");
        }
        let refused = |text: &str| reason(parse_object(text.as_bytes()).unwrap_err());
        for text in ["[]", "12", "true"] {
            assert_eq!(refused(text), "not_json", "{text}");
        }
        // RabbitMQ answers `not_json` without a place.
        for text in ["{", "nonsense", "{\"a\":}", "[[[[", "\u{0}"] {
            let said = refused(text);
            let said = said.as_str().unwrap();
            assert!(said.starts_with("not_json: ") && said.contains(" at line 1 column "), "{text}: {said}");
        }
        assert_eq!(object("\u{feff}// a queue\n{\"a\":[1,],}"), object("{\"a\":[1]}"));
        assert_eq!(refused("\"{}\""), DOUBLY_ENCODED);
    }

    #[test]
    fn missing_keys_are_listed_as_rabbitmq_lists_them() {
        let refused = |names: &[&str]| reason(require(&Fields::default(), names).unwrap_err());
        assert_eq!(
            refused(&["configure", "write", "read"]),
            "[{key_missing,configure},{key_missing,write},{key_missing,read}]"
        );
        assert_eq!(
            refused(&["routing_key", "properties", "payload", "payload_encoding"]),
            "[{key_missing,routing_key},\n {key_missing,properties},\n {key_missing,payload},\n \
             {key_missing,payload_encoding}]"
        );
        assert!(require(&object("{\"a\":null}"), &["a"]).is_ok());
    }

    #[test]
    fn a_body_has_a_bounded_number_of_values() {
        let list = |item: &str, count: usize| format!("{{\"a\":[{}0]}}", format!("{item},").repeat(count));
        for (item, value_count) in [("0", 1), ("[]", 2), ("{}", 2), ("[[[]]]", 4)] {
            // The object and the list are values, too.
            let count_max = (VALUE_COUNT_MAX - 2) / value_count;
            assert!(parse_object(list(item, count_max).as_bytes()).is_ok(), "{item}");
            let refused = parse_object(list(item, count_max + 1).as_bytes()).unwrap_err();
            assert_eq!(reason(refused), "too many values", "{item}");
        }
        let commas = format!("{{\"a\":\"\\\"{}\"}}", ",".repeat(2 * VALUE_COUNT_MAX));
        assert!(parse_object(commas.as_bytes()).is_ok());
    }

    #[test]
    fn the_boundary_is_a_parameter_of_the_type() {
        for (text, boundary_text) in [
            ("multipart/form-data; boundary=X", Some("X")),
            ("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\"", Some("a b")),
            ("multipart/form-data", None),
            ("multipart/form-data; boundary=", None),
            ("application/json; boundary=X", None),
        ] {
            assert_eq!(boundary(text), boundary_text, "{text}");
        }
    }

    #[test]
    fn a_part_is_found_by_its_name() {
        let body = b"--X\r\nContent-Disposition: form-data; name=\"redirect\"\r\n\r\n/x\r\n--X\r\n\
            content-disposition: form-data; name=\"file\"; filename=\"a.json\"\r\nContent-Type: application/json\r\n\r\n\
            {\"a\":\r\n1}\r\n--X--\r\n";
        assert_eq!(part(body, "X", "file"), Some(&b"{\"a\":\r\n1}"[..]));
        assert_eq!(part(body, "X", "redirect"), Some(&b"/x"[..]));
        assert_eq!(part(body, "X", "other"), None);
        assert_eq!(part(body, "Y", "file"), None);
        let preamble = [&b"words\r\n"[..], body].concat();
        assert_eq!(part(&preamble, "X", "redirect"), Some(&b"/x"[..]));
    }

    #[test]
    fn a_malformed_body_has_no_parts() {
        for body in [
            &b""[..],
            b"garbage",
            b"--X",
            b"--X\r\n",
            b"--X--\r\n",
            b"--X\r\n\r\nvalue",
            b"--X\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nno end",
        ] {
            assert_eq!(part(body, "X", "file"), None, "{}", String::from_utf8_lossy(body));
        }
    }
}
