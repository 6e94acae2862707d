//! `Pattern`: one pattern, ready to be matched against the bytes of a name.
//!
//! As in RabbitMQ a pattern is not anchored, and classes are ASCII. Names are bytes: those that are not UTF-8 are matched like all
//! others. `$` is the end of the name, where PCRE allows a line feed behind it; RabbitMQ takes line feeds out of names.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fancy_regex::{BytesMode, Error, Expr, Regex, RegexBuilder};

use super::error::PatternError;
use super::pcre;
use super::plain::PlainPattern;
use super::program::{self, PROGRAM_MAX, Program};

/// The most bytes of a pattern.
const PATTERN_SIZE_MAX: usize = 16 * 1024;
/// The most steps of one match, less than a millisecond.
pub(crate) const STEPS_MAX: usize = 100_000;
/// The flag of fancy-regex's parser for letters in either case.
const CASELESS: u32 = 1;
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
    /// An automaton matches the name, byte by byte.
    Regex(Box<Regex>),
    /// A pattern that looks around or refers back.
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
    pub fn find(&self, name: &[u8]) -> Option<bool> {
        self.find_within(name, &mut { STEPS_MAX })
    }

    /// As [`find`](Pattern::find), with the steps that are left for several matches. Takes those of this match from them.
    ///
    /// No pattern is known to make the engine panic here. Should one, this is `None`, too: patterns come from operators and names
    /// from clients, and neither may stop the thread.
    pub fn find_within(&self, name: &[u8], steps: &mut usize) -> Option<bool> {
        if let Kind::Program(program) = &self.0 {
            return program.find(name, steps).ok();
        }
        let Some(left) = steps.checked_sub(1 + name.len()) else {
            *steps = 0;
            return None;
        };
        *steps = left;
        match &self.0 {
            Kind::Plain(plain) => Some(plain.matches(name)),
            Kind::Regex(regex) => catch_unwind(AssertUnwindSafe(|| regex.is_match(name))).ok()?.ok(),
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
            .delegate_dfa_size_limit(STATES_SIZE_MAX)
            .build()
            .map(|regex| (regex, parse(&translated, is_caseless)))
    };
    match catch_unwind(AssertUnwindSafe(build)) {
        Ok(Ok((regex, None))) => Ok(Pattern(Kind::Regex(Box::new(regex)))),
        Ok(Ok((_, Some(program)))) => match program {
            Ok(program) => Ok(Pattern(Kind::Program(Box::new(program)))),
            Err(reason) => Err(wrong(reason.into(), 0)),
        },
        Ok(Err(error)) => {
            let position =
                if let Error::ParseError(position, _) = error { position.min(text.len()) } else { 0 };
            Err(wrong(error.to_string(), position))
        }
        Err(_) => Err(wrong(ENGINE_FAILED.into(), 0)),
    }
}

/// The program of a pattern that no automaton matches.
fn parse(translated: &str, is_caseless: bool) -> Option<Result<Program, &'static str>> {
    let flags = if is_caseless { CASELESS } else { 0 };
    let expr = Expr::parse_tree_with_flags(translated, flags).ok()?.expr;
    program::is_irregular(&expr).then(|| program::compile(&expr))
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Plain(plain) => plain.fmt(f),
            Kind::Regex(regex) => f.write_str(regex.as_str()),
            Kind::Program(program) => program.fmt(f),
            Kind::Never => f.write_str("nothing"),
        }
    }
}
