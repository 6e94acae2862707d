//! `calibrate`: measures this machine.

use std::thread;
use std::time::Duration;

use hairstreak_model::Links;

use super::error::CalibrationError;
use super::figures::Calibration;
use super::link::{measure, medians};
use super::waiting::lateness;

/// Sizes of messages that are measured, in bytes.
const SIZES: [usize; 5] = [64, 1 << 10, 8 << 10, 32 << 10, 128 << 10];
/// The limits up to which a link of a socket gathers: a time, and a number of bytes.
const GATHER: Duration = Duration::from_micros(50);
const GATHER_BYTES: u64 = 64 << 10;

/// Measures this machine, each figure `repeat_count` times (at least once), and takes the medians. About a second for each repeat.
///
/// # Errors
///
/// A socket or a thread cannot be had, or a message does not come.
pub fn calibrate(repeat_count: usize) -> Result<Calibration, CalibrationError> {
    let mut costs = Vec::with_capacity(SIZES.len());
    let wake_up = lateness()?;
    for size in SIZES {
        let measured = (0..repeat_count.max(1)).map(|_| measure(size));
        costs.push(medians(&measured.collect::<Result<Vec<_>, _>>()?));
    }
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    Ok(Calibration { cores, wake_up, links: Links::new(costs, GATHER, GATHER_BYTES)? })
}
