//! `mutations`: bugs that are made on purpose, each of which the simulators of its crate have to find.
//!
//! A crate lists its mutations in `mutations.toml`: a text in one of the crate's files, and what stands there instead. The
//! product's code has no traces of them. [`check`] makes one after the other in a copy of the checkout, and runs the
//! crate's simulators there, the tests with `model` or `power` in their names. A mutation that is not found says what the simulators do
//! not look at. `tidy` sees to it that the texts are there, which costs no build.
//!
//! Reading order: `table` (the list), `scratch` (the copy), `trial` (one run of the tests), `check` (all of them).

mod check;
mod scratch;
mod table;
mod trial;

pub use check::check;
pub(crate) use table::{FILE_NAME, read};
