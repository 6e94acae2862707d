//! `OperatorError`: the refusal of an operator's request, and `Done`: the commit to wait for after a change.

use hairstreak_broker::Refusal;
use serde_json::Value;
use thiserror::Error;

use crate::node::{Commit, JournalError};

/// A change that acts already.
#[derive(Debug)]
pub struct Done {
    /// True if the change created an object.
    pub is_new: bool,
    /// Resolves when the change is on disk.
    pub commit: Commit,
}

/// Refusal of an operator's request.
#[derive(Debug, Error)]
pub enum OperatorError {
    /// There is no such object.
    #[error("Not Found")]
    NotFound,
    /// The request is invalid.
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
