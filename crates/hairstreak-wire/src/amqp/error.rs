//! `DecodeError`: the payload of a frame is invalid. The limits of tables stand beside it.

use super::reply_code::ReplyCode;
use crate::Blame;

/// Deepest nesting of tables and arrays. The outermost table has depth 1.
pub const DEPTH_MAX: usize = 64;

/// Largest number of fields of a table, including those of the tables and arrays in it.
pub const FIELD_COUNT_MAX: usize = 65_536;

/// A method, a content header, properties or a field table is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The payload is too short for the ids of a method or the fixed fields of a content header.
    #[error("a payload of {size} bytes is too short")]
    ShortPayload {
        /// The size of the payload, in bytes.
        size: usize,
    },
    /// The class id is unknown.
    #[error("class {class} with method {method} is unknown")]
    UnknownClass {
        /// The class id.
        class: u16,
        /// The method id.
        method: u16,
    },
    /// The class has no method with that id.
    #[error("class {class} has no method {method}")]
    UnknownMethod {
        /// The class id.
        class: u16,
        /// The method id.
        method: u16,
    },
    /// The bytes end inside a field.
    #[error("the bytes end inside a field")]
    Cut,
    /// A table or an array ends inside one of its fields.
    #[error("a table or an array ends inside one of its fields")]
    CutTable,
    /// A short string of a method is not UTF-8.
    #[error("Malformed UTF-8 in shortstr")]
    Utf8,
    /// Bytes follow the last field.
    #[error("{size} bytes follow the last field")]
    Surplus {
        /// Number of these bytes.
        size: usize,
    },
    /// The type of a field in a table or an array is unknown.
    #[error("field type {letter:#04x} is unknown")]
    UnknownFieldType {
        /// Letter of the type.
        letter: u8,
    },
    /// Tables and arrays are nested deeper than [`DEPTH_MAX`].
    #[error("tables and arrays lie deeper in each other than {DEPTH_MAX}")]
    TooDeep,
    /// One table has more than [`FIELD_COUNT_MAX`] fields, including those of the tables and arrays in it.
    #[error("a table has more than {FIELD_COUNT_MAX} fields")]
    TooManyFields,
    /// The weight of a content header is not zero.
    #[error("a content header has weight {weight}")]
    Weight {
        /// The weight.
        weight: u16,
    },
    /// The response of a SASL mechanism is malformed.
    #[error("the response for {mechanism} is malformed")]
    Response {
        /// The mechanism.
        mechanism: &'static str,
    },
}

impl DecodeError {
    /// Returns the reply code of the close that answers the error. Like RabbitMQ, it is 501 for fields that do not
    /// fill their frame.
    pub fn reply_code(&self) -> ReplyCode {
        match self {
            DecodeError::ShortPayload { .. }
            | DecodeError::Cut
            | DecodeError::Surplus { .. }
            | DecodeError::Utf8 => ReplyCode::FrameError,
            DecodeError::UnknownClass { .. } => ReplyCode::CommandInvalid,
            DecodeError::UnknownMethod { .. } => ReplyCode::NotImplemented,
            DecodeError::Weight { .. } => ReplyCode::UnexpectedFrame,
            _ => ReplyCode::SyntaxError,
        }
    }

    /// Returns the side at fault.
    pub fn blame(&self) -> Blame {
        match self {
            DecodeError::UnknownClass { .. } | DecodeError::UnknownMethod { .. } => Blame::PeerIncompatible,
            _ => Blame::PeerMisbehaved,
        }
    }
}
