//! `FieldError`: why one field of a request or a reply was refused, and the readers of fields that
//! need no type of their own. Every error names its field.

use crate::Blame;
use crate::blame::escaped;

/// Why a field was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// Nothing where something must be.
    #[error("{field} is empty")]
    Empty {
        /// Which field.
        field: &'static str,
    },
    /// Over the limit of that field.
    #[error("{field} has {size} bytes, the limit is {size_max}")]
    TooLong {
        /// Which field.
        field: &'static str,
        /// Its size, in bytes.
        size: usize,
        /// The limit, in bytes.
        size_max: usize,
    },
    /// A field of fixed size has another.
    #[error("{field} has {size} bytes, not {expected}")]
    WrongSize {
        /// Which field.
        field: &'static str,
        /// Its size, in bytes.
        size: usize,
        /// The size it must have, in bytes.
        expected: usize,
    },
    /// A flag that is neither the byte 0 nor the byte 1.
    #[error("{field} is neither the byte 0 nor the byte 1")]
    NotAFlag {
        /// Which field.
        field: &'static str,
    },
    /// Not UTF-8, or with control characters in it.
    #[error("{field} \"{text}\" is not printable text")]
    NotText {
        /// Which field.
        field: &'static str,
        /// What it is, escaped.
        text: String,
    },
    /// Not of the form `transport://address`.
    #[error("endpoint \"{text}\" is not of the form transport://address")]
    NotAnEndpoint {
        /// What it is.
        text: String,
    },
    /// An endpoint that one can bind but nobody can connect to.
    #[error("endpoint \"{text}\" is a wildcard, nobody can connect to it")]
    Wildcard {
        /// The endpoint.
        text: String,
    },
    /// More attributes than allowed.
    #[error("{count} attributes, the limit is {count_max}")]
    TooManyAttributes {
        /// How many there are.
        count: usize,
        /// The limit.
        count_max: usize,
    },
    /// Two attributes of one key.
    #[error("attribute \"{key}\" is there twice")]
    AttributeTwice {
        /// The key.
        key: String,
    },
    /// The fields end behind a key.
    #[error("attribute \"{key}\" has no value")]
    AttributeWithoutValue {
        /// The key, escaped.
        key: String,
    },
}

impl FieldError {
    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        Blame::PeerMisbehaved
    }
}

/// `bytes` as text without control characters, of at most `size_max` bytes; may be empty.
pub(super) fn text<'a>(field: &'static str, bytes: &'a [u8], size_max: usize) -> Result<&'a str, FieldError> {
    if bytes.len() > size_max {
        return Err(FieldError::TooLong { field, size: bytes.len(), size_max });
    }
    match str::from_utf8(bytes) {
        Ok(text) if !text.contains(char::is_control) => Ok(text),
        _ => Err(FieldError::NotText { field, text: escaped(bytes) }),
    }
}

/// As [`text`], and not empty.
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

/// A number of 32 bits, big endian.
pub(super) fn number(field: &'static str, bytes: &[u8]) -> Result<u32, FieldError> {
    let expected = size_of::<u32>();
    let bytes = bytes.try_into().map_err(|_| FieldError::WrongSize { field, size: bytes.len(), expected })?;
    Ok(u32::from_be_bytes(bytes))
}
