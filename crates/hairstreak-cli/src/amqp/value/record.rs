//! A message as one JSON object, the same for `publish --json` and `consume --json`:
//!
//! ```text
//! {"exchange": "orders", "key": "eu.new", "redelivered": false, "headers": {"tries": 1},
//!  "properties": {"content_type": "text/plain", "delivery_mode": 2}, "body": "..."}
//! ```
//!
//! Each property and header comes back unchanged (see `json` for their values). A body that is not UTF-8 is `body_base64`. To publish,
//! all fields may be missing, and a body that is not a string is sent as JSON.

use base64::Engine;
use hairstreak_amqp::Content;
use hairstreak_wire::amqp::{DecodeError, FieldTable, Properties, SHORT_STRING_SIZE_MAX};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use super::json::{BASE64, from_headers, to_headers};
use super::properties::PropertyValues;
use super::text::Text;

/// A message as an object, with the fields that are set.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Text>,
    #[serde(alias = "routing_key")]
    pub key: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redelivered: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "PropertyValues::is_empty")]
    pub properties: PropertyValues,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
    /// The size of the whole body in bytes, if the record has only a part of it. Such a record cannot be published.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub truncated_from: Option<u64>,
}

impl Record {
    /// The object on one line, without a newline.
    pub fn to_line(&self) -> Vec<u8> {
        // INVARIANT: the names are strings, and every value of a record can be written.
        serde_json::to_vec(self).expect("a record is JSON")
    }
}

/// The reason why a text is not a message.
#[derive(Debug, Error)]
pub enum RecordError {
    #[error("it is no JSON object with a message: {0}")]
    Json(#[from] serde_json::Error),
    #[error("{0}: {1}")]
    Field(&'static str, String),
}

/// A message to publish, with the fields of the object.
pub struct Published {
    pub exchange: Option<Text>,
    pub key: Option<Text>,
    pub headers: Option<FieldTable>,
    pub properties: PropertyValues,
    pub body: Vec<u8>,
}

/// The message of a JSON object.
pub fn from_record(text: &[u8]) -> Result<Published, RecordError> {
    let record: Record = serde_json::from_slice(text)?;
    let checked = |name, text: Option<Text>| match text {
        Some(text) if text.as_bytes().len() > SHORT_STRING_SIZE_MAX => {
            Err(RecordError::Field(name, format!("it has more than {SHORT_STRING_SIZE_MAX} bytes")))
        }
        text => Ok(text),
    };
    let body = match (record.body, record.body_base64) {
        (Some(_), Some(_)) => {
            return Err(RecordError::Field("body_base64", "there is a body besides".into()));
        }
        (Some(Value::String(text)), None) => text.into_bytes(),
        (Some(value), None) => value.to_string().into_bytes(),
        (None, Some(text)) => {
            BASE64.decode(&text).map_err(|_| RecordError::Field("body_base64", "it is no base64".into()))?
        }
        (None, None) => Vec::new(),
    };
    let headers = record.headers.as_ref().map(to_headers).transpose();
    Ok(Published {
        exchange: checked("exchange", record.exchange)?,
        key: checked("key", record.key)?,
        headers: headers.map_err(|error| RecordError::Field("headers", error))?,
        properties: record.properties,
        body,
    })
}

/// A message as one line of JSON, without a newline.
pub fn to_record(content: Content, is_redelivered: bool) -> Result<Vec<u8>, DecodeError> {
    let mut properties = Properties::decode(&content.properties)?;
    let headers = properties.headers.take();
    let (body, body_base64) = match String::from_utf8(content.body) {
        Ok(text) => (Some(Value::String(text)), None),
        Err(error) => (None, Some(BASE64.encode(error.as_bytes()))),
    };
    let record = Record {
        exchange: Some(content.exchange.into()),
        key: Some(content.routing_key.into()),
        redelivered: Some(is_redelivered),
        headers: headers.as_ref().map(from_headers),
        properties: PropertyValues::of(&properties),
        body,
        body_base64,
        truncated_from: None,
    };
    Ok(record.to_line())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back_from_its_record() {
        for body in ["text \u{e4}\n".as_bytes(), b"\xff\x00", b""] {
            let properties = PropertyValues { priority: Some(2), ..PropertyValues::default() };
            let headers = FieldTable::from_iter([("n", 1)]);
            let content = Content {
                exchange: "x".into(),
                routing_key: b"k\xff".into(),
                properties: properties.encode(Some(&headers)).unwrap(),
                body: body.to_vec(),
            };
            let line = to_record(content, true).unwrap();
            assert!(!line.contains(&b'\n'));
            let published = from_record(&line).unwrap();
            assert_eq!((published.exchange, published.key), (Some("x".into()), Some(b"k\xff".into())));
            assert_eq!(
                (published.headers, published.properties, &*published.body),
                (Some(headers), properties, body)
            );
        }
    }

    #[test]
    fn a_body_may_be_any_json() {
        for (json, body) in [
            (r#"{"body": {"a": [1, 2]}}"#, r#"{"a":[1,2]}"#),
            (r#"{"body": 1, "routing_key": "k"}"#, "1"),
            (r#"{"body_base64": "/w=="}"#, "\u{ff}"),
            ("{}", ""),
        ] {
            let sent: Vec<u8> = body.chars().map(|character| character as u8).collect();
            assert_eq!(from_record(json.as_bytes()).unwrap().body, sent, "{json}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in [
            "",
            "[]",
            "{\"bdy\": 1}",
            "{\"body\": \"a\", \"body_base64\": \"\"}",
            "{\"body_base64\": \"?\"}",
            "{\"headers\": 1}",
            "{\"body\": \"he\", \"truncated_from\": 5}",
            "{\"properties\": {\"priority\": 256}}",
            "{\"properties\": {\"contenttype\": \"x\"}}",
        ] {
            assert!(from_record(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
