//! `Pattern`: one pattern, ready to be matched against the bytes of a name.
//!
//! As in RabbitMQ a pattern is not anchored, the empty pattern matches no name, and classes are ASCII. Names are bytes: those that
//! are not UTF-8 are matched like all others. `$` is the end of the name, where PCRE allows a line feed behind it; RabbitMQ takes
//! line feeds out of names.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fancy_regex::{BytesMode, Regex, RegexBuilder};

use super::error::PatternError;
use super::pcre;
use super::plain::PlainPattern;

/// The most bytes of a pattern.
const PATTERN_SIZE_MAX: usize = 16 * 1024;
/// The most steps back in one match, 0.3 ms.
const BACKTRACK_MAX: usize = 10_000;
/// The most instructions of a pattern that backtracks.
const PROGRAM_MAX: usize = 20_000;
/// The most bytes of the automaton of a pattern that does not backtrack.
const AUTOMATON_SIZE_MAX: usize = 1 << 20;
/// The most bytes of what is remembered of the automaton's states.
const STATES_SIZE_MAX: usize = 64 * 1024;

/// A compiled pattern.
pub(in crate::access) struct Pattern(Kind);

enum Kind {
    Plain(PlainPattern),
    Regex(Regex),
    /// The text is no regular expression: nothing is allowed.
    Never,
}

impl Pattern {
    /// A pattern that matches nothing.
    pub fn never() -> Pattern {
        Pattern(Kind::Never)
    }

    /// Compiles a pattern: microseconds, a millisecond at worst.
    ///
    /// Errors: the text is no regular expression, uses what fancy-regex lacks, or is too large.
    pub fn compile(text: &str) -> Result<Pattern, PatternError> {
        let wrong = |reason: String| PatternError { pattern: text.chars().take(256).collect(), reason };
        if let Some(plain) = PlainPattern::of(text) {
            return Ok(Pattern(Kind::Plain(plain)));
        }
        if text.len() > PATTERN_SIZE_MAX {
            return Err(wrong(format!("longer than {PATTERN_SIZE_MAX} bytes")));
        }
        let translated = pcre::translate(text).map_err(wrong)?;
        let build = || {
            RegexBuilder::new(&translated)
                .bytes_mode(BytesMode::Ascii)
                .backtrack_limit(BACKTRACK_MAX)
                .max_prog_size(PROGRAM_MAX)
                .delegate_size_limit(AUTOMATON_SIZE_MAX)
                .delegate_dfa_size_limit(STATES_SIZE_MAX)
                .build()
        };
        match catch_unwind(AssertUnwindSafe(build)) {
            Ok(Ok(regex)) => Ok(Pattern(Kind::Regex(regex))),
            Ok(Err(error)) => Err(wrong(error.to_string())),
            Err(_) => Err(wrong("the regular expression engine failed".into())),
        }
    }

    /// Whether the pattern is somewhere in `name`. A match that takes too many steps is none, and neither is one that makes the
    /// engine panic: patterns come from operators and names from clients, and neither may stop the thread.
    pub fn matches(&self, name: &[u8]) -> bool {
        match &self.0 {
            Kind::Plain(plain) => plain.matches(name),
            Kind::Regex(regex) => catch_unwind(AssertUnwindSafe(|| regex.is_match(name)))
                .is_ok_and(|found| found.unwrap_or(false)),
            Kind::Never => false,
        }
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Plain(plain) => plain.fmt(f),
            Kind::Regex(regex) => f.write_str(regex.as_str()),
            Kind::Never => f.write_str("nothing"),
        }
    }
}
