//! `PatternError`: a pattern that is no regular expression of ours.

use thiserror::Error;

/// A pattern that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invalid regular expression '{pattern}': {reason}")]
pub struct PatternError {
    /// The pattern.
    pub pattern: String,
    /// The reason, as text.
    pub reason: String,
}
