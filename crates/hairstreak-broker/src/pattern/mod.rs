//! Patterns of names: regular expressions as RabbitMQ's users write them, which are PCRE's.
//!
//! Permissions, policies and the filters of lists use them. `pcre` translates PCRE to the syntax of fancy-regex, `plain` handles
//! the patterns that need no regular expression, and [`Pattern`] matches names. All other patterns are a `program`: a `machine`
//! runs it and counts its steps. fancy-regex checks patterns and does not match them: its time has no known bound.

mod machine;
#[expect(clippy::module_inception, reason = "the type is what the folder is about")]
mod pattern;
mod pcre;
mod plain;
mod program;
#[cfg(test)]
mod tests;

pub use pattern::PatternError;
pub use pattern::{Pattern, STEPS_MAX};
