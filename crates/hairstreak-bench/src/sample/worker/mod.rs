//! A member of a sample.
//!
//! - `work`: its task, both roles
//! - `one_way`: messages in one direction
//! - `there_and_back`: messages that come back
//! - `calls`: the parts that all cases share

mod calls;
mod one_way;
mod there_and_back;
mod work;

pub use work::take_part;
