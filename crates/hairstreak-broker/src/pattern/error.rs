//! `PatternError`: a pattern that is no regular expression of ours.

use std::fmt;

/// A pattern that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// The pattern, of which a long one is cut.
    pub pattern: String,
    /// The reason, as text.
    pub reason: String,
    /// The byte of the pattern that is wrong, or behind it; 0 where the pattern as a whole is.
    pub position: usize,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid regular expression '{}': {}", self.pattern, self.reason)
    }
}

impl std::error::Error for PatternError {}
