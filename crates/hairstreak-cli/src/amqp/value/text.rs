//! `Text`: a short string of AMQP, such as a routing key or a property. A short string may have any bytes.
//!
//! In JSON it is a string, or `{"$string": "base64"}` if the bytes are no UTF-8.

use hairstreak_wire::amqp::FieldValue;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::json::{from_string, to_value};

/// The bytes of a short string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text(Vec<u8>);

impl Text {
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl<T: Into<Vec<u8>>> From<T> for Text {
    fn from(bytes: T) -> Text {
        Text(bytes.into())
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        from_string(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        match to_value(&Value::deserialize(deserializer)?) {
            Ok(FieldValue::LongString(bytes)) => Ok(Text(bytes.into())),
            Ok(_) => Err(D::Error::custom("a text is a string, or {\"$string\": \"base64\"}")),
            Err(error) => Err(D::Error::custom(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_come_back_from_json() {
        for (bytes, json) in [(&b"a"[..], "\"a\""), (b"", "\"\""), (b"\xff", "{\"$string\":\"/w==\"}")] {
            let text = Text::from(bytes);
            assert_eq!(serde_json::to_string(&text).unwrap(), json);
            assert_eq!(serde_json::from_str::<Text>(json).unwrap(), text);
        }
        for wrong in ["1", "{}", "{\"$bytes\":\"\"}", "{\"$string\":1}"] {
            assert!(serde_json::from_str::<Text>(wrong).is_err(), "{wrong}");
        }
    }
}
