//! The properties of a message, as JSON has them.

use hairstreak_node::definitions::{Arguments, to_json};
use hairstreak_wire::amqp::{FieldTable, Properties};
use serde_json::{Map, Value};

use super::queues::has_null;
use crate::http::error::ApiError;

/// The names of the properties that are texts.
const TEXTS: [&str; 10] = [
    "content_type",
    "content_encoding",
    "correlation_id",
    "reply_to",
    "expiration",
    "message_id",
    "type",
    "user_id",
    "app_id",
    "cluster_id",
];
/// The longest text.
const TEXT_SIZE_MAX: usize = 255;

/// Properties that were read from JSON.
#[derive(Debug, Default)]
pub(super) struct PropertyTexts {
    texts: Vec<(&'static str, String)>,
    headers: Option<FieldTable>,
    delivery_mode: Option<u8>,
    priority: Option<u8>,
    timestamp: Option<u64>,
}

impl PropertyTexts {
    /// Reads the properties of a request. Names that are none are passed over.
    ///
    /// # Errors
    ///
    /// 400: a value has a wrong type.
    pub(super) fn read(object: &Map<String, Value>) -> Result<PropertyTexts, ApiError> {
        let mut properties = PropertyTexts {
            delivery_mode: number(object, "delivery_mode")?,
            priority: number(object, "priority")?,
            timestamp: number(object, "timestamp")?,
            ..PropertyTexts::default()
        };
        for name in TEXTS {
            match object.get(name) {
                None => {}
                Some(Value::String(text)) if text.len() <= TEXT_SIZE_MAX => {
                    properties.texts.push((name, text.clone()));
                }
                Some(_) => return Err(ApiError::wrong_field("not_string", name)),
            }
        }
        if let Some(headers) = object.get("headers") {
            if has_null(headers) {
                return Err(ApiError::bad_request("null_not_allowed"));
            }
            let Arguments(table) = serde_json::from_value(headers.clone())
                .map_err(|error| ApiError::bad_request(format!("headers: {error}")))?;
            properties.headers = Some(table);
        }
        Ok(properties)
    }

    pub(super) fn properties(&self) -> Properties<'_> {
        let text =
            |name: &str| self.texts.iter().find(|(other, _)| *other == name).map(|(_, text)| text.as_bytes());
        Properties {
            content_type: text("content_type"),
            content_encoding: text("content_encoding"),
            headers: self.headers.clone(),
            delivery_mode: self.delivery_mode,
            priority: self.priority,
            correlation_id: text("correlation_id"),
            reply_to: text("reply_to"),
            expiration: text("expiration"),
            message_id: text("message_id"),
            timestamp: self.timestamp,
            kind: text("type"),
            user_id: text("user_id"),
            app_id: text("app_id"),
            cluster_id: text("cluster_id"),
        }
    }
}

/// Reads properties and writes them again, for the fuzz target.
pub(crate) fn read_properties(object: &Map<String, Value>) {
    if let Ok(texts) = PropertyTexts::read(object) {
        let mut encoded = Vec::new();
        texts.properties().encode(&mut encoded);
        assert!(properties_json(&encoded).len() <= object.len());
    }
}

/// RabbitMQ takes no digits in a string here.
fn number<T: TryFrom<u64>>(object: &Map<String, Value>, name: &str) -> Result<Option<T>, ApiError> {
    let Some(value) = object.get(name) else { return Ok(None) };
    let number = value.as_u64().and_then(|number| T::try_from(number).ok());
    number.map(Some).ok_or_else(|| ApiError::wrong_field("not_int", name))
}

/// The object of encoded properties. Malformed properties give an empty object: the broker has checked them.
pub(super) fn properties_json(encoded: &[u8]) -> Map<String, Value> {
    let mut object = Map::new();
    let Ok(properties) = Properties::decode(encoded) else { return object };
    let mut put = |name: &str, text: Option<&[u8]>| {
        if let Some(text) = text {
            object.insert(name.into(), String::from_utf8_lossy(text).into());
        }
    };
    put("content_type", properties.content_type);
    put("content_encoding", properties.content_encoding);
    put("correlation_id", properties.correlation_id);
    put("reply_to", properties.reply_to);
    put("expiration", properties.expiration);
    put("message_id", properties.message_id);
    put("type", properties.kind);
    put("user_id", properties.user_id);
    put("app_id", properties.app_id);
    put("cluster_id", properties.cluster_id);
    let mut put_number = |name: &str, number: Option<u64>| {
        if let Some(number) = number {
            object.insert(name.into(), number.into());
        }
    };
    put_number("delivery_mode", properties.delivery_mode.map(u64::from));
    put_number("priority", properties.priority.map(u64::from));
    put_number("timestamp", properties.timestamp);
    if let Some(headers) = &properties.headers {
        object.insert("headers".into(), to_json(headers).into());
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<PropertyTexts, ApiError> {
        PropertyTexts::read(value.as_object().unwrap())
    }

    #[test]
    fn properties_come_back_as_they_were() {
        let value = json!({"content_type": "a", "content_encoding": "b", "correlation_id": "c", "reply_to": "d",
            "expiration": "60000", "message_id": "e", "type": "f", "user_id": "g", "app_id": "h", "cluster_id": "i",
            "delivery_mode": 2, "priority": 3, "timestamp": 5, "headers": {"a": 1, "b": ["x", true, 1.5]}});
        let mut encoded = Vec::new();
        read(value.clone()).unwrap().properties().encode(&mut encoded);
        assert_eq!(Value::from(properties_json(&encoded)), value);
        let mut encoded = Vec::new();
        read(json!({"nothing": 5})).unwrap().properties().encode(&mut encoded);
        assert!(properties_json(&encoded).is_empty());
        assert!(properties_json(b"\xff").is_empty());
    }

    #[test]
    fn values_of_wrong_types_are_refused() {
        let not_int = ApiError::wrong_field("not_int", "priority");
        for value in [json!({"priority": "3"}), json!({"priority": 256}), json!({"priority": -1})] {
            assert_eq!(read(value).err(), Some(not_int.clone()));
        }
        for value in [json!({"type": 1}), json!({"type": "x".repeat(256)}), json!({"headers": "x"})] {
            assert!(read(value.clone()).is_err(), "{value}");
        }
    }
}
