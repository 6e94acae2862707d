//! A duration where a topology file has one.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

use crate::topology::duration::parse_duration;

/// The string was a duration.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrittenDuration(pub(super) Duration);

impl<'de> Deserialize<'de> for WrittenDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = WrittenDuration;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a duration such as \"500ms\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<WrittenDuration, E> {
                parse_duration(text).map(WrittenDuration).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}
