//! `tidy`: the house rules that a program can check, one file per rule.
//!
//! A rule is a function from a `Tree` of files to [`Finding`]s; each tells where, which rule and what to
//! do instead. One line is exempted from one rule by a comment on it or right above it, in any file:
//! `tidy: allow(RULE) and the reason`. Rules look at code without its comments and strings, so naming a
//! banned word in a string is no offence.
//!
//! Reading order: `finding`, `tree` and `code` (what a rule is given), `check` (which rules there are).

mod adr;
mod architecture;
mod check;
mod code;
mod commits;
mod dependencies;
mod file_names;
mod finding;
mod fragments;
mod heads;
mod layers;
mod length;
mod limits;
mod manifest;
mod module_roots;
mod mutations;
mod panics;
mod places;
mod protocols;
mod ratchets;
mod sans_io;
mod sleeps;
mod tree;
mod unfinished;
mod unsafety;

pub use check::check_checkout;
pub use finding::Finding;
pub use ratchets::{RECORD as RATCHETS, lowered_record};
pub use tree::ReadError;
pub(crate) use tree::Tree;
