//! A process of a pipeline: its part of one sample, timed and verified.
//!
//! `entry` reads what is to be done and has what every part needs; there is one file for each [`Scheme`](super::Scheme).

mod batches;
mod blocks;
mod entry;
mod error;
mod greetings;
mod meter;
mod window;
mod work;

pub use entry::take_part;
pub use error::PartError;
