//! `PolicyError`: the fault of a policy.

use std::fmt;

/// A fault of a policy. Shown, the error is the reason that RabbitMQ's HTTP API gives, where that API does not
/// escape it for HTML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    reason: String,
}

impl PolicyError {
    pub(super) fn new(reason: impl Into<String>) -> PolicyError {
        PolicyError { reason: reason.into() }
    }

    /// The reason alone, in one line.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Validation failed\n\n{}", self.reason)
    }
}

impl std::error::Error for PolicyError {}
