//! A message as the API has it: for people, and as the object that `consume --json` writes.
//!
//! ```text
//! {"exchange": "", "routing_key": "orders", "redelivered": false, "properties": {"headers": {...}, ...},
//!  "payload_bytes": 5, "payload": "hello", "payload_encoding": "string"}
//! ```

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::amqp::{PropertyValues, Record};
use crate::failure::Failure;
use crate::line::one_line;
use crate::numbers::grouped;

/// The payload is base64.
const BASE64: &str = "base64";
/// The bytes shown of a body that is no text, in hexadecimal.
const HEX_SIZE_MAX: usize = 256;
/// Bytes on one line of hexadecimal.
const HEX_LINE_SIZE: usize = 16;

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    exchange: String,
    #[serde(default)]
    routing_key: String,
    #[serde(default)]
    redelivered: bool,
    /// An object; RabbitMQ sends `[]` if there are no properties.
    #[serde(default)]
    properties: Value,
    /// The size of the whole body, also if only a part of it was asked for.
    payload_bytes: u64,
    payload: String,
    #[serde(default)]
    payload_encoding: String,
}

impl Message {
    /// The body's bytes, as far as they came.
    fn body(&self) -> Cow<'_, [u8]> {
        let decoded =
            if self.payload_encoding == BASE64 { STANDARD.decode(&self.payload).ok() } else { None };
        decoded.map_or(Cow::Borrowed(self.payload.as_bytes()), Cow::Owned)
    }
}

fn message(value: &Value) -> Result<Message, Failure> {
    let message = Message::deserialize(value);
    message.map_err(|error| Failure::failed(format!("the API answered a malformed message: {error}")))
}

/// The object of `consume --json`. A part of a body is not passed off as the whole.
pub fn to_record(value: &Value) -> Result<Record, Failure> {
    let message = message(value)?;
    let size = message.body().len() as u64;
    let (headers, properties) = split(message.properties);
    let (body, body_base64) = match message.payload_encoding.as_str() {
        BASE64 => (None, Some(message.payload)),
        _ => (Some(Value::String(message.payload)), None),
    };
    Ok(Record {
        exchange: Some(message.exchange.into()),
        key: Some(message.routing_key.into()),
        redelivered: Some(message.redelivered),
        headers,
        properties,
        body,
        body_base64,
        truncated_from: (size < message.payload_bytes).then_some(message.payload_bytes),
    })
}

/// Headers, and the properties that are known.
fn split(properties: Value) -> (Option<Map<String, Value>>, PropertyValues) {
    let Value::Object(mut fields) = properties else { return (None, PropertyValues::default()) };
    let headers = match fields.remove("headers") {
        Some(Value::Object(headers)) => Some(headers),
        _ => None,
    };
    let known = fields.iter().filter_map(|(name, value)| {
        let one = json!({name: value});
        serde_json::from_value::<PropertyValues>(one).ok()
    });
    (headers, known.fold(PropertyValues::default(), |all, one| all.or(&one)))
}

/// Some lines for people: where the message came from, its properties and headers, and its body.
pub fn shown(value: &Value, position: u64) -> Result<String, Failure> {
    let message = message(value)?;
    let mut text = format!(
        "message {}: exchange '{}', key '{}', {} bytes{}\n",
        grouped(position),
        one_line(&message.exchange),
        one_line(&message.routing_key),
        grouped(message.payload_bytes),
        if message.redelivered { ", redelivered" } else { "" }
    );
    if let Value::Object(fields) = &message.properties {
        for (name, value) in fields.iter().filter(|(name, _)| *name != "headers") {
            text.push_str(&format!("  {}: {}\n", one_line(name), plain(value)));
        }
        for (name, value) in fields.get("headers").and_then(Value::as_object).into_iter().flatten() {
            text.push_str(&format!("  header {}: {}\n", one_line(name), plain(value)));
        }
    }
    let body = message.body();
    let (lines, size) = match std::str::from_utf8(&body) {
        Ok(text) => (text.lines().map(one_line).collect(), body.len()),
        Err(_) => (hex(&body), body.len().min(HEX_SIZE_MAX)),
    };
    lines.iter().for_each(|line| text.push_str(&format!("    {line}\n")));
    let rest = message.payload_bytes.saturating_sub(size as u64);
    if rest > 0 {
        text.push_str(&format!("    ... {} bytes more\n", grouped(rest)));
    }
    Ok(text)
}

/// A text as it is, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| one_line(&value.to_string()), one_line)
}

fn hex(bytes: &[u8]) -> Vec<String> {
    let bytes = &bytes[..bytes.len().min(HEX_SIZE_MAX)];
    let line = |line: &[u8]| line.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    bytes.chunks(HEX_LINE_SIZE).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> Value {
        json!({
            "exchange": "events", "routing_key": "a.b", "redelivered": true, "message_count": 3,
            "properties": {"headers": {"tries": 1}, "content_type": "text/plain", "cluster_id": "x", "priority": 300},
            "payload_bytes": 1002, "payload": "one\ntwo\u{7}", "payload_encoding": "string",
        })
    }

    #[test]
    fn people_see_all_of_it() {
        let expected = "message 7: exchange 'events', key 'a.b', 1,002 bytes, redelivered\n  cluster_id: x\n  \
                        content_type: text/plain\n  priority: 300\n  header tries: 1\n    one\n    two\\u{7}\n    \
                        ... 994 bytes more\n";
        assert_eq!(shown(&text(), 7).unwrap(), expected);
        let mut binary = json!({"properties": [], "payload_bytes": 18, "payload_encoding": "base64"});
        binary["payload"] = STANDARD.encode([255; 18]).into();
        let line = ["ff"; 16].join(" ");
        let expected = format!("message 0: exchange '', key '', 18 bytes\n    {line}\n    ff ff\n");
        assert_eq!(shown(&binary, 0).unwrap(), expected);
        assert!(shown(&json!({"payload": 1}), 0).is_err());
    }

    #[test]
    fn programs_get_what_publish_reads() {
        let line = |text: &Value| String::from_utf8(to_record(text).unwrap().to_line()).unwrap();
        let expected = r#"{"exchange":"events","key":"a.b","redelivered":true,"headers":{"tries":1},"properties":{"content_type":"text/plain","cluster_id":"x"},"body":"one\ntwo\u0007"}"#;
        let mut whole = text();
        whole["payload_bytes"] = 8.into();
        assert_eq!(line(&whole), expected);
        assert!(line(&text()).ends_with("\"truncated_from\":1002}"));
        let binary = json!({"payload_bytes": 1, "payload": "/w==", "payload_encoding": "base64"});
        assert_eq!(to_record(&binary).unwrap().body_base64.as_deref(), Some("/w=="));
    }
}
