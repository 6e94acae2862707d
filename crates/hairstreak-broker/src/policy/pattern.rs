//! `Pattern`: a regular expression for names, with what users write for PCRE: look-arounds and references to groups. Not
//! anchored. Names are bytes, as they are for RabbitMQ: a dot is one byte.

use fancy_regex::{BytesMode, Error, Regex, RegexBuilder};

use super::error::PolicyError;

/// Steps back after which a match counts as none: a pattern that tries everything does not hold others up.
const BACKTRACK_COUNT_MAX: usize = 4_096;
/// Instructions of a compiled pattern.
const INSTRUCTION_COUNT_MAX: usize = 16_384;
/// The memory of a compiled pattern's parts without look-arounds, in bytes.
const COMPILED_SIZE_MAX: usize = 1 << 20;

/// A pattern of names.
#[derive(Debug)]
pub(super) struct Pattern(Regex);

impl Pattern {
    /// # Errors
    ///
    /// The pattern is no regular expression, or too large a one.
    pub(super) fn new(pattern: &str) -> Result<Pattern, PolicyError> {
        let built = RegexBuilder::new(pattern)
            .bytes_mode(BytesMode::Ascii)
            .unicode_mode(false)
            .backtrack_limit(BACKTRACK_COUNT_MAX)
            .max_prog_size(INSTRUCTION_COUNT_MAX)
            .delegate_size_limit(COMPILED_SIZE_MAX)
            .build();
        built.map(Pattern).map_err(|error| {
            let position = if let Error::ParseError(position, _) = error { position } else { 0 };
            PolicyError::new(format!(
                "pattern should be regular expression but is invalid: {{\"{error}\",{position}}}"
            ))
        })
    }

    pub(super) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether the pattern is somewhere in the name.
    pub(super) fn matches(&self, name: &[u8]) -> bool {
        self.0.is_match(name).unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Pattern::new(pattern).unwrap().matches(name.as_bytes())
    }

    #[test]
    fn patterns_are_not_anchored_and_know_look_arounds() {
        assert!(matches("", "q"));
        assert!(matches("b", "abc"));
        assert!(!matches("^b", "abc"));
        assert!(matches(r"^(?!amq\.).*", "orders"));
        assert!(!matches(r"^(?!amq\.).*", "amq.gen"));
        assert!(matches(r"(a|b)-\1$", "b-b"));
        assert!(matches("(?i)^ORDERS", "orders.1"));
        assert!(matches(r"^\w+\.\d{2}$", "q.17"));
    }

    #[test]
    fn names_are_bytes() {
        assert!(matches("^..$", "é"));
        assert!(matches("é", "caf\u{e9}"));
        assert!(Pattern::new("^..$").unwrap().matches(b"\xff\xfe"));
    }

    #[test]
    fn a_pattern_that_tries_everything_matches_nothing() {
        let name = "a".repeat(200);
        assert!(!matches(r"^(?:(a+)+\1)+(?!a)b$", &name));
    }

    #[test]
    fn a_pattern_that_is_too_large_is_refused() {
        for pattern in ["(a{1000}){1000}", "(", "*", "[a", "(?<=a", r"(?<n>a\g<n>\g<n>)"] {
            let error = Pattern::new(pattern).unwrap_err();
            let start = "pattern should be regular expression but is invalid: {\"";
            assert!(error.reason().starts_with(start), "{error}");
        }
    }
}
