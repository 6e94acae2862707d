//! Ratchets: sizes that are larger than the house wants, recorded as they are; they may only go down.
//!
//! - Rule `circles`: files of one crate that import each other in a circle cannot be read one after the
//!   other. A new file is in no circle; a circle only loses files or falls apart.
//! - Rule `methods`: a type has at most 40 methods.
//! - Rule `fields`: a struct has at most 20 fields.
//!
//! The record (`ratchets.toml`, beside this folder) lists what is larger today. It is exact: a rule also
//! fails when a value shrank and the record was not lowered. `cargo run -p xtask -- ratchets` lowers it.
//! Tests are not measured: files that `File::is_test` knows, and items behind `cfg(test)` or `cfg(loom)`.
//!
//! Reading order: `krate` (the modules of a crate), `reader` (fills them from its source), `item` (small
//! questions about syntax), `names` (what a path leads to), `circles` and `types` (what is measured),
//! `measure` (of one crate), `record` (the file), `check` (the rules, and lowering the record).

mod check;
mod circles;
mod item;
mod krate;
mod measure;
mod names;
mod reader;
mod record;
#[cfg(test)]
mod tests;
mod types;

pub(super) use check::check;
pub use check::{RECORD, lowered_record};
