//! The parts that all members share: the meter, the endpoints of the task, and the end of a member.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::super::sample::{Measurement, Task};
use crate::frame::processes::Answer;
use crate::frame::usage::{Usage, status_bytes};
use crate::sample::LibzmqHandle;

/// The longest wait for a message. Nothing takes that long: the message was lost.
pub(super) const PATIENCE: Duration = Duration::from_secs(40);
/// Interval at which a worker without tasks looks for the order to finish.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Prints the measurement and waits for the order to finish: until then others may need this part.
pub(super) fn end(meter: &Meter, task_count: u64, orders: &mpsc::Receiver<()>) -> Result<()> {
    Answer::Measured(meter.end(task_count)?).print()?;
    // The thread that passes orders on ends after the first one.
    let _ = orders.recv();
    Ok(())
}

/// Endpoint `index` of the task.
pub(super) fn endpoint(task: &Task, index: usize) -> Result<&str> {
    task.endpoints
        .get(index)
        .map(String::as_str)
        .with_context(|| format!("the task names too few endpoints: {}", task.endpoints.len()))
}

pub(super) fn check_size(what: &'static str, size: usize, expected: usize) -> Result<()> {
    ensure!(size == expected, "{what} of {size} bytes came where {expected} were sent");
    Ok(())
}

/// Receives a message and returns its size. `came` of `expected` messages came before.
pub(super) fn next(socket: &mut LibzmqHandle, what: &'static str, came: u64, expected: u64) -> Result<usize> {
    let seconds = PATIENCE.as_secs();
    socket
        .receive_in_time()?
        .with_context(|| format!("nothing came for {seconds} s, {came} of {expected} {what} did"))
}

/// Reads clock and consumption at the first task and at the end.
#[derive(Debug, Default)]
pub(super) struct Meter {
    start: Option<(Usage, Instant)>,
}

impl Meter {
    /// The first task is here; further calls change nothing.
    pub fn begin(&mut self) -> Result<()> {
        if self.start.is_none() {
            self.start = Some((Usage::now()?, Instant::now()));
        }
        Ok(())
    }

    /// The part is done.
    pub fn end(&self, task_count: u64) -> Result<Measurement> {
        let (usage, elapsed_s) = match &self.start {
            Some((usage, start)) => {
                let elapsed_s = start.elapsed().as_secs_f64();
                (Usage::now()?.since(usage), elapsed_s)
            }
            None => (Usage::default(), 0.0),
        };
        Ok(Measurement {
            task_count,
            elapsed_s,
            usage,
            peak_size: status_bytes(std::process::id(), "VmHWM")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Meter;

    #[test]
    fn a_part_that_had_no_task_used_nothing() {
        let measurement = Meter::default().end(0).unwrap();
        assert_eq!((measurement.elapsed_s, measurement.usage.cpu_s), (0.0, 0.0));
        assert!(measurement.peak_size > 0);
    }
}
