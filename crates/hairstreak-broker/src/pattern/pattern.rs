//! `Pattern`: one pattern, ready to be matched against the bytes of a name.
//!
//! As in RabbitMQ a pattern is not anchored, and classes are ASCII. Names are bytes: those that are not UTF-8 are matched like all
//! others. `$` is the end of the name, where PCRE allows a line feed behind it; RabbitMQ takes line feeds out of names.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fancy_regex::{BytesMode, Error, Regex, RegexBuilder};

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

/// The reason if the engine panics at a pattern.
pub(super) const ENGINE_FAILED: &str = "the regular expression engine failed";

/// A compiled pattern.
pub struct Pattern(pub(super) Kind);

pub(super) enum Kind {
    Plain(PlainPattern),
    Regex(Box<Regex>),
    /// The text is no regular expression: it matches nothing.
    Never,
}

impl Pattern {
    /// A pattern that matches nothing.
    pub fn never() -> Pattern {
        Pattern(Kind::Never)
    }

    /// Compiles a pattern: microseconds, a millisecond at worst.
    ///
    /// # Errors
    ///
    /// The text is no regular expression, uses what fancy-regex lacks, or is too large.
    pub fn compile(text: &str) -> Result<Pattern, PatternError> {
        match PlainPattern::of(text) {
            Some(plain) => Ok(Pattern(Kind::Plain(plain))),
            None => regex(text, false),
        }
    }

    /// Compiles a pattern that matches letters in either case.
    ///
    /// # Errors
    ///
    /// As [`Pattern::compile`].
    pub fn compile_caseless(text: &str) -> Result<Pattern, PatternError> {
        regex(text, true)
    }

    /// Whether the pattern is somewhere in `name`. A match that takes too many steps is none.
    pub fn matches(&self, name: &[u8]) -> bool {
        self.find(name).unwrap_or(false)
    }

    /// Whether the pattern is somewhere in `name`. `None`: that takes too many steps to say.
    ///
    /// No pattern is known to make the engine panic here. Should one, this is `None`, too: patterns come from operators and names
    /// from clients, and neither may stop the thread.
    pub fn find(&self, name: &[u8]) -> Option<bool> {
        match &self.0 {
            Kind::Plain(plain) => Some(plain.matches(name)),
            Kind::Regex(regex) => catch_unwind(AssertUnwindSafe(|| regex.is_match(name))).ok()?.ok(),
            Kind::Never => Some(false),
        }
    }
}

fn regex(text: &str, is_caseless: bool) -> Result<Pattern, PatternError> {
    let wrong = |reason, position| {
        let pattern = text.chars().take(256).collect();
        PatternError { pattern, reason, position }
    };
    if text.len() > PATTERN_SIZE_MAX {
        return Err(wrong(format!("longer than {PATTERN_SIZE_MAX} bytes"), 0));
    }
    let translated = pcre::translate(text).map_err(|fault| wrong(fault.reason, fault.position))?;
    let build = || {
        RegexBuilder::new(&translated)
            .bytes_mode(BytesMode::Ascii)
            .case_insensitive(is_caseless)
            .backtrack_limit(BACKTRACK_MAX)
            .max_prog_size(PROGRAM_MAX)
            .delegate_size_limit(AUTOMATON_SIZE_MAX)
            .delegate_dfa_size_limit(STATES_SIZE_MAX)
            .build()
    };
    match catch_unwind(AssertUnwindSafe(build)) {
        Ok(Ok(regex)) => Ok(Pattern(Kind::Regex(Box::new(regex)))),
        Ok(Err(error)) => {
            let position =
                if let Error::ParseError(position, _) = error { position.min(text.len()) } else { 0 };
            Err(wrong(error.to_string(), position))
        }
        Err(_) => Err(wrong(ENGINE_FAILED.into(), 0)),
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
