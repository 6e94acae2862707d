//! Patterns of permissions: regular expressions as RabbitMQ's users write them, which are PCRE's.
//!
//! `pcre` says what PCRE means in the syntax of fancy-regex, `plain` knows the patterns that need no regular expression, and
//! [`Pattern`] matches names. `template` fills in `{username}`, and [`PatternTable`] shares equal patterns.

mod error;
#[expect(clippy::module_inception, reason = "the type is what the folder is about")]
mod pattern;
mod pcre;
mod plain;
mod table;
mod template;

pub use error::PatternError;
pub(super) use pattern::Pattern;
pub(super) use table::PatternTable;
pub(super) use template::{Variables, expand};
