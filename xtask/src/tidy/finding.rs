//! `Finding`: one place where a rule is broken.

use std::fmt;

/// Where a rule is broken and what to do instead; displays as `path:line: rule: advice`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, relative to the checkout.
    pub path: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The rule's name, as `tidy: allow(RULE)` takes it.
    pub rule: &'static str,
    /// What to do instead.
    pub advice: String,
}

impl Finding {
    /// A finding of `rule` in line `line` (counted from 1) of `path`.
    pub(super) fn new(path: &str, line: usize, rule: &'static str, advice: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, rule, advice: advice.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.rule, self.advice)
    }
}
