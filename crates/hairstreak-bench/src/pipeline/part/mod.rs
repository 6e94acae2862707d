//! The members of a sample.
//!
//! - `members`: a member of any scheme; our pipeline
//! - `libzmq`: the two pipelines of the rival
//! - `entry`: the parts that all members share
//! - `work`: the time that a task takes

mod entry;
mod libzmq;
mod members;
mod work;

pub use members::take_part;
