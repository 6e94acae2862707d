//! `FieldError`: a field of a request or a reply is invalid. Also the readers of fields without a type of their own.
//! Every error names its field.

use crate::Blame;
use crate::blame::escaped;

/// A field is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// A required field is empty.
    #[error("{field} is empty")]
    Empty {
        /// Name of the field.
        field: &'static str,
    },
    /// The field is longer than its limit.
    #[error("{field} has {size} bytes, the limit is {size_max}")]
    TooLong {
        /// Name of the field.
        field: &'static str,
        /// Size of the field, in bytes.
        size: usize,
        /// The limit, in bytes.
        size_max: usize,
    },
    /// A field of fixed size has another size.
    #[error("{field} has {size} bytes, not {expected}")]
    WrongSize {
        /// Name of the field.
        field: &'static str,
        /// Size of the field, in bytes.
        size: usize,
        /// The required size, in bytes.
        expected: usize,
    },
    /// A flag is neither the byte 0 nor the byte 1.
    #[error("{field} is neither the byte 0 nor the byte 1")]
    NotAFlag {
        /// Name of the field.
        field: &'static str,
    },
    /// The field is not UTF-8, or contains control characters.
    #[error("{field} \"{text}\" is not printable text")]
    NotText {
        /// Name of the field.
        field: &'static str,
        /// Value of the field, escaped.
        text: String,
    },
    /// The field does not have the form `transport://address`.
    #[error("endpoint \"{text}\" is not of the form transport://address")]
    NotAnEndpoint {
        /// Value of the field.
        text: String,
    },
    /// The endpoint can be bound, but peers cannot connect to it.
    #[error("endpoint \"{text}\" is a wildcard, nobody can connect to it")]
    Wildcard {
        /// The endpoint.
        text: String,
    },
    /// There are more attributes than allowed.
    #[error("{count} attributes, the limit is {count_max}")]
    TooManyAttributes {
        /// Number of attributes.
        count: usize,
        /// The limit.
        count_max: usize,
    },
    /// Two attributes have the same key.
    #[error("attribute \"{key}\" is there twice")]
    AttributeTwice {
        /// The key.
        key: String,
    },
    /// A key has no value behind it.
    #[error("attribute \"{key}\" has no value")]
    AttributeWithoutValue {
        /// The key, escaped.
        key: String,
    },
}

impl FieldError {
    /// Returns the side at fault.
    pub fn blame(&self) -> Blame {
        Blame::PeerMisbehaved
    }
}

/// Returns `bytes` as text without control characters, of at most `size_max` bytes. May be empty.
pub(super) fn text<'a>(field: &'static str, bytes: &'a [u8], size_max: usize) -> Result<&'a str, FieldError> {
    if bytes.len() > size_max {
        return Err(FieldError::TooLong { field, size: bytes.len(), size_max });
    }
    match str::from_utf8(bytes) {
        Ok(text) if !text.contains(char::is_control) => Ok(text),
        _ => Err(FieldError::NotText { field, text: escaped(bytes) }),
    }
}

/// Like [`text`], but not empty.
pub(super) fn some_text<'a>(
    field: &'static str,
    bytes: &'a [u8],
    size_max: usize,
) -> Result<&'a str, FieldError> {
    if bytes.is_empty() {
        return Err(FieldError::Empty { field });
    }
    text(field, bytes, size_max)
}

/// Returns a number of 32 bits, big endian.
pub(super) fn number(field: &'static str, bytes: &[u8]) -> Result<u32, FieldError> {
    let expected = size_of::<u32>();
    let bytes = bytes.try_into().map_err(|_| FieldError::WrongSize { field, size: bytes.len(), expected })?;
    Ok(u32::from_be_bytes(bytes))
}
