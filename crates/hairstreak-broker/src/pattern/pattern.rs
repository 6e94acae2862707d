//! `Pattern`: a compiled pattern that is matched against the bytes of a name.
//!
//! As in RabbitMQ a pattern is not anchored, and classes are ASCII. Names are bytes: names that are not UTF-8 are matched like
//! all others. `$` is the end of the name, where PCRE allows a line feed behind it; RabbitMQ takes line feeds out of names.
//!
//! - `PatternError`: a pattern that is no regular expression of ours.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fancy_regex::{BytesMode, Error, Expr, RegexBuilder};

use super::machine;
use super::pcre;
use super::plain::PlainPattern;
use super::program::{self, PROGRAM_MAX, Program};

/// The most bytes of a pattern.
const PATTERN_SIZE_MAX: usize = 16 * 1024;
/// The most steps of one match, less than a millisecond.
pub const STEPS_MAX: usize = 100_000;
/// The flag of fancy-regex's parser for letters in either case.
const CASELESS: u32 = 1;
/// The most bytes of the automaton by which fancy-regex checks a part of a pattern.
const AUTOMATON_SIZE_MAX: usize = 1 << 20;

/// The reason if the engine panics at a pattern.
pub(super) const ENGINE_FAILED: &str = "the regular expression engine failed";

/// A compiled pattern.
pub struct Pattern(pub(super) Kind);

pub(super) enum Kind {
    Plain(PlainPattern),
    Program(Box<Program>),
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
    /// The text is not a regular expression, uses a construct that fancy-regex lacks, or is too large.
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

    /// Returns true if the pattern matches somewhere in `name`. A match that needs too many steps counts as false.
    pub fn matches(&self, name: &[u8]) -> bool {
        self.find(name).unwrap_or(false)
    }

    /// Returns true if the pattern matches somewhere in `name`. `None`: the match needs too many steps.
    pub fn find(&self, name: &[u8]) -> Option<bool> {
        self.find_within(name, &mut { STEPS_MAX })
    }

    /// Works like [`find`](Pattern::find), with a budget of steps for several matches. Subtracts the steps of this match from the
    /// budget.
    pub fn find_within(&self, name: &[u8], steps: &mut usize) -> Option<bool> {
        if let Kind::Program(program) = &self.0 {
            return machine::find(program, name, steps).ok();
        }
        let Some(left) = steps.checked_sub(1 + name.len()) else {
            *steps = 0;
            return None;
        };
        *steps = left;
        match &self.0 {
            Kind::Plain(plain) => Some(plain.matches(name)),
            Kind::Program(_) | Kind::Never => Some(false),
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
            .max_prog_size(PROGRAM_MAX)
            .delegate_size_limit(AUTOMATON_SIZE_MAX)
            .build()
            .and_then(|_| Expr::parse_tree_with_flags(&translated, if is_caseless { CASELESS } else { 0 }))
            .map(|tree| program::compile(&tree.expr))
    };
    match catch_unwind(AssertUnwindSafe(build)) {
        Ok(Ok(Ok(program))) => Ok(Pattern(Kind::Program(Box::new(program)))),
        Ok(Ok(Err(reason))) => Err(wrong(reason.into(), 0)),
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
            Kind::Program(program) => program.fmt(f),
            Kind::Never => f.write_str("nothing"),
        }
    }
}

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
