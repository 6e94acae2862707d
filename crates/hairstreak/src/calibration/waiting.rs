//! How late a sleeper wakes up on this machine.

use std::num::NonZeroU64;
use std::thread;
use std::time::{Duration, Instant};

use super::error::CalibrationError;
use super::median::median;

/// How long each sleep is, and how many there are.
const SLEEP: Duration = Duration::from_millis(1);
const SLEEP_COUNT: usize = 300;

/// The time between the end of a sleep and the end of the call: the median of many.
pub(super) fn lateness() -> Result<Duration, CalibrationError> {
    // A thread of its own, for the slack stays with it; that of built-in stages is the same.
    let sleeper = thread::Builder::new().spawn(|| {
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let late = (0..SLEEP_COUNT).map(|_| {
            let began = Instant::now();
            thread::sleep(SLEEP);
            began.elapsed().saturating_sub(SLEEP).as_nanos() as f64
        });
        median(late.collect())
    });
    let sleeper = sleeper.map_err(|error| CalibrationError::Thread(error.to_string()))?;
    let late = sleeper.join().map_err(|_| CalibrationError::Thread("the sleeper panicked".into()))?;
    Ok(Duration::from_nanos(late as u64))
}
