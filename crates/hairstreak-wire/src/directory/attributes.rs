//! `Attributes`: further information in an entry besides its endpoint, as keys and values.
//!
//! The directory stores them and passes them on. On the wire each attribute is two frames, key and value.

use super::field::{self, FieldError};
use crate::blame::escaped;

/// The largest number of attributes of an entry.
pub const ATTRIBUTE_COUNT_MAX: usize = 16;

/// The longest key, in bytes.
pub const ATTRIBUTE_KEY_SIZE_MAX: usize = 64;

/// The longest value, in bytes.
pub const ATTRIBUTE_VALUE_SIZE_MAX: usize = 256;

/// Keys and values that obey the limits, no key twice, in the order they were added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes(Vec<(Box<str>, Box<[u8]>)>);

impl Attributes {
    /// Creates an empty set of attributes.
    pub fn new() -> Attributes {
        Attributes::default()
    }

    /// Adds an attribute.
    pub fn add(&mut self, key: &str, value: &[u8]) -> Result<(), FieldError> {
        self.add_decoded(key.as_bytes(), value)
    }

    /// Returns the value of `key`.
    pub fn find(&self, key: &str) -> Option<&[u8]> {
        self.iter().find(|(other, _)| *other == key).map(|(_, value)| value)
    }

    /// Iterates over keys and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    fn add_decoded(&mut self, key: &[u8], value: &[u8]) -> Result<(), FieldError> {
        if self.0.len() == ATTRIBUTE_COUNT_MAX {
            return Err(FieldError::TooManyAttributes {
                count: ATTRIBUTE_COUNT_MAX + 1,
                count_max: ATTRIBUTE_COUNT_MAX,
            });
        }
        let key = field::some_text("attribute key", key, ATTRIBUTE_KEY_SIZE_MAX)?;
        if self.find(key).is_some() {
            return Err(FieldError::AttributeTwice { key: key.to_owned() });
        }
        let (size, size_max) = (value.len(), ATTRIBUTE_VALUE_SIZE_MAX);
        if size > size_max {
            return Err(FieldError::TooLong { field: "attribute value", size, size_max });
        }
        self.0.push((key.into(), value.into()));
        Ok(())
    }

    pub(super) fn decode(fields: &[&[u8]]) -> Result<Attributes, FieldError> {
        let (pairs, rest) = fields.as_chunks::<2>();
        if let [key] = rest {
            return Err(FieldError::AttributeWithoutValue { key: escaped(key) });
        }
        if pairs.len() > ATTRIBUTE_COUNT_MAX {
            return Err(FieldError::TooManyAttributes { count: pairs.len(), count_max: ATTRIBUTE_COUNT_MAX });
        }
        let mut attributes = Attributes::new();
        for [key, value] in pairs {
            attributes.add_decoded(key, value)?;
        }
        Ok(attributes)
    }

    pub(super) fn encode(&self, frames: &mut Vec<Vec<u8>>) {
        for (key, value) in self.iter() {
            frames.push(key.as_bytes().to_vec());
            frames.push(value.to_vec());
        }
    }
}
