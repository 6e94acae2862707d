//! The frame of all studies: options, turns, worker processes, statistics and reports.
//!
//! - `options`: the common options of all studies, and defaults
//! - `setting`: the machine, the build and the rivals of a run
//! - `processes`: the worker processes of a sample
//! - `turns`: the order of samples
//! - `spread`: median and extremes of a few samples
//! - `report`: tables of values, as text and as JSON
//! - `meter`: the clock and the consumption of a member
//! - `usage`, `allocations`, `tracer`: the costs of a sample
//! - `cores`: the cores that threads keep to
//! - `disk`: the speed of the disk, and the bytes that were written to it

pub mod allocations;
pub mod cores;
pub mod disk;
mod meter;
mod options;
pub mod processes;
mod report;
mod setting;
mod spread;
pub mod tracer;
mod turns;
pub mod usage;

pub use meter::{Measurement, Meter};
#[cfg(test)]
pub use options::parse;
pub use options::{Common, RivalOptions, chosen, name, number_in, sorted};
pub use report::{Report, Row, Table, Value, columns, rate, short};
pub use setting::{Machine, Rival, Setting};
pub use spread::Spread;
pub use turns::take_turns;
