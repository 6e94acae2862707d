//! Values of JSON as Erlang prints them, for texts that RabbitMQ's tools know.

use serde_json::Value;

/// A value as RabbitMQ has it in the text of an error.
pub(crate) fn erlang(value: &Value) -> String {
    match value {
        Value::String(text) => format!("<<\"{text}\">>"),
        other => other.to_string(),
    }
}
