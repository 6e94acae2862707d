//! Patterns of names: regular expressions as RabbitMQ's users write them, which are PCRE's.
//!
//! Permissions, policies and the filters of lists all have them. `pcre` says what PCRE means in the syntax of fancy-regex,
//! `plain` knows the patterns that need no regular expression, and [`Pattern`] matches names. All other patterns are a `program`, which a
//! `machine` runs and counts the steps of. fancy-regex checks patterns and matches none: its time has no bound that it tells.

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
