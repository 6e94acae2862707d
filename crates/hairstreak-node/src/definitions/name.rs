//! `Name`: the name of an exchange or a queue, or a routing key: up to 255 bytes, which are UTF-8 by custom only.

use std::borrow::Cow;
use std::fmt;

use hairstreak_wire::amqp::SHORT_STRING_SIZE_MAX;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

/// A short string of AMQP. JSON has it as a string, where bytes that are no UTF-8 are lost; a longer string
/// is refused. The data directory has the bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(pub Box<[u8]>);

impl Name {
    /// The name of a text.
    ///
    /// # Errors
    ///
    /// The text is longer than a short string of AMQP.
    pub fn from_text(text: &str) -> Result<Name, String> {
        match text.len() {
            0..=SHORT_STRING_SIZE_MAX => Ok(text.into()),
            size => Err(format!("a name has {size} bytes, {SHORT_STRING_SIZE_MAX} at most may be")),
        }
    }

    /// The name as text.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl From<&[u8]> for Name {
    fn from(bytes: &[u8]) -> Name {
        Name(bytes.into())
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name(text.as_bytes().into())
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&self.text())
        } else {
            serializer.serialize_bytes(&self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Name, E> {
                Name::from_text(text).map_err(E::custom)
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Name, E> {
                Ok(bytes.into())
            }
        }

        if deserializer.is_human_readable() {
            deserializer.deserialize_str(Bytes)
        } else {
            deserializer.deserialize_bytes(Bytes)
        }
    }
}
