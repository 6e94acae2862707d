//! Calibration: measured costs of messages, waits and work on this machine, so that a simulation can model the machine.
//!
//! - [`Calibration`]: the figures, and the file that keeps them
//! - [`calibrate`]: measures them. `link` and `chain` measure the cost of a message for both ends of a tcp link, `core`
//!   the delay of a sleeper's wake-up
//! - [`measure_splits`]: measures the work from which on a split into two stages pays
//!
//! Each measurement needs the whole machine to itself. Other load changes the figures.

mod chain;
mod core;
mod figures;
mod link;
mod split;

pub(crate) use core::burn;
pub use figures::{Calibration, CalibrationError, CalibrationFileError, FILE_SIZE_MAX};
pub use link::calibrate;
pub use split::{SPLIT_WORK_MAX, Split, SplitRate, Transport, break_even, measure_splits};
