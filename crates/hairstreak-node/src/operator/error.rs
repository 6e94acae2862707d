//! `OperatorError`: why an operator's wish is not granted, and `Done`: what is to be waited for if it is.

use hairstreak_broker::Refusal;
use serde_json::Value;
use thiserror::Error;

use crate::node::{Commit, JournalError};

/// A change that acts already.
#[derive(Debug)]
pub struct Done {
    /// Whether the change made something that was not there.
    pub is_new: bool,
    /// Resolves when the change is on disk.
    pub commit: Commit,
}

/// Why an operator's wish is not granted.
#[derive(Debug, Error)]
pub enum OperatorError {
    /// There is no such object.
    #[error("Not Found")]
    NotFound,
    /// The request makes no sense.
    #[error("{0}")]
    Bad(String),
    /// The object is protected.
    #[error("{0}")]
    Protected(String),
    /// The user has the tag `protected`.
    #[error("User is protected")]
    ProtectedUser,
    /// Nothing can be written now.
    #[error("{0}")]
    Unwritten(String),
    /// The virtual host refuses, as it refuses clients.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl From<JournalError> for OperatorError {
    fn from(error: JournalError) -> OperatorError {
        OperatorError::Unwritten(error.to_string())
    }
}

/// A value as RabbitMQ has it in the text of an error.
pub fn erlang(value: &Value) -> String {
    match value {
        Value::String(text) => format!("<<\"{text}\">>"),
        other => other.to_string(),
    }
}
