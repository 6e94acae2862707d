//! Calibration: what this machine takes for messages, waits and work, measured, so that a simulation can be of this machine.
//!
//! - [`Calibration`]: the figures, and the file that keeps them
//! - [`calibrate`]: measures them: `link` and `chain` (what a message costs both ends of a tcp link), `core` (how late a sleeper wakes up)
//! - [`measure_splits`]: when it pays to divide work into two stages, measured
//!
//! Everything here takes the machine for itself while it measures. What else runs meanwhile is in the figures.

mod chain;
mod core;
mod figures;
mod file;
mod link;
mod split;

pub(crate) use core::burn;
pub use figures::Calibration;
pub use figures::CalibrationError;
pub use file::{CalibrationFileError, FILE_SIZE_MAX};
pub use link::calibrate;
pub use split::{SPLIT_WORK_MAX, Split, SplitRate, Transport, break_even, measure_splits};
