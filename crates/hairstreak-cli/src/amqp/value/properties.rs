//! `PropertyValues`: the properties of a message as typed text and as JSON. Headers are separate.

use hairstreak_wire::amqp::{FieldTable, Properties, SHORT_STRING_SIZE_MAX};
use serde::{Deserialize, Serialize};

use super::text::Text;

macro_rules! properties {
    (texts { $($text:ident ($field:ident),)* } numbers { $($number:ident: $type:ty,)* }) => {
        /// The properties of a message, without headers.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct PropertyValues {
            $(#[serde(skip_serializing_if = "Option::is_none")] pub $text: Option<Text>,)*
            $(#[serde(skip_serializing_if = "Option::is_none")] pub $number: Option<$type>,)*
        }

        impl PropertyValues {
            /// Fills missing properties from `other`.
            pub fn or(self, other: &PropertyValues) -> PropertyValues {
                PropertyValues {
                    $($text: self.$text.or_else(|| other.$text.clone()),)*
                    $($number: self.$number.or(other.$number),)*
                }
            }

            /// The encoded properties. A text that is too long is an error that names the property.
            pub fn encode(&self, headers: Option<&FieldTable>) -> Result<Vec<u8>, String> {
                let mut properties = Properties::default();
                $(if let Some(text) = &self.$text {
                    if text.as_bytes().len() > SHORT_STRING_SIZE_MAX {
                        return Err(format!("{} has more than {SHORT_STRING_SIZE_MAX} bytes", stringify!($text).trim_start_matches("r#")));
                    }
                    properties.$field = Some(text.as_bytes());
                })*
                $(properties.$number = self.$number;)*
                properties.headers = headers.cloned();
                let mut encoded = Vec::new();
                properties.encode(&mut encoded);
                Ok(encoded)
            }

            pub fn of(properties: &Properties<'_>) -> PropertyValues {
                PropertyValues {
                    $($text: properties.$field.map(Text::from),)*
                    $($number: properties.$number,)*
                }
            }
        }
    };
}

properties! {
    texts {
        content_type (content_type),
        content_encoding (content_encoding),
        correlation_id (correlation_id),
        reply_to (reply_to),
        expiration (expiration),
        message_id (message_id),
        r#type (kind),
        user_id (user_id),
        app_id (app_id),
        cluster_id (cluster_id),
    }
    numbers {
        delivery_mode: u8,
        priority: u8,
        timestamp: u64,
    }
}

impl PropertyValues {
    pub fn is_empty(&self) -> bool {
        *self == PropertyValues::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_come_back() {
        let values = PropertyValues {
            content_type: Some("text/plain".into()),
            r#type: Some("order".into()),
            priority: Some(3),
            ..PropertyValues::default()
        };
        let defaults =
            PropertyValues { priority: Some(1), delivery_mode: Some(2), ..PropertyValues::default() };
        let merged = values.or(&defaults);
        assert_eq!((merged.priority, merged.delivery_mode), (Some(3), Some(2)));
        let encoded = merged.encode(Some(&FieldTable::from_iter([("a", 1)]))).unwrap();
        let decoded = Properties::decode(&encoded).unwrap();
        assert_eq!(PropertyValues::of(&decoded), merged);
        assert_eq!(decoded.headers.unwrap().len(), 1);
    }

    #[test]
    fn any_properties_come_back_from_json() {
        let text = |bytes: &[u8]| Some(Text::from(bytes));
        let values = PropertyValues {
            content_type: text(b"\xff"),
            content_encoding: text(b""),
            correlation_id: text(&[b'c'; 255]),
            reply_to: text(b"r"),
            expiration: text(b"1"),
            message_id: text(b"\0"),
            r#type: text(b"t"),
            user_id: text(b"u"),
            app_id: text(b"a"),
            cluster_id: text(b"c1"),
            delivery_mode: Some(255),
            priority: Some(0),
            timestamp: Some(u64::MAX),
        };
        for headers in [None, Some(FieldTable::new())] {
            let encoded = values.encode(headers.as_ref()).unwrap();
            let decoded = Properties::decode(&encoded).unwrap();
            let text = serde_json::to_string(&PropertyValues::of(&decoded)).unwrap();
            let back: PropertyValues = serde_json::from_str(&text).unwrap();
            assert_eq!(back.encode(decoded.headers.as_ref()).unwrap(), encoded, "{text}");
        }
    }

    #[test]
    fn a_text_that_is_too_long_is_named() {
        let values = PropertyValues { r#type: Some("t".repeat(256).into()), ..PropertyValues::default() };
        assert!(values.encode(None).unwrap_err().contains("type"));
    }
}
