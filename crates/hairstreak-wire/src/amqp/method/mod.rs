//! Methods: what the two sides of a connection ask of each other.
//!
//! - one file for each class: the structs of its methods, written by `class_macro`
//! - `method`: any of them
//! - `arguments`: the fields of a method, one by one

#[macro_use]
mod class_macro;

pub mod access;
mod arguments;
pub mod basic;
pub mod channel;
pub mod connection;
pub mod exchange;
#[expect(clippy::module_inception, reason = "the module's main type")]
mod method;
pub mod queue;

pub use channel::{confirm, tx};
pub use method::{Method, method_id};
