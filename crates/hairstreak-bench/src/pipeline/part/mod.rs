//! The members of a sample.
//!
//! - `members`: a member of any scheme; our pipeline
//! - `libzmq`: the two pipelines of the rival
//! - `work`: the time that a task takes

mod libzmq;
mod members;
mod work;

pub use members::take_part;
