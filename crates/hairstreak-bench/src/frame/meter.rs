//! `Meter`: the clock and the consumption of a member of a sample, from its first task or request to its last one.

use std::time::Instant;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::usage::{Usage, status_bytes};

/// The measurement of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Tasks or requests that the member sent, passed on or received.
    pub count: u64,
    /// The clock of the member, in seconds.
    pub elapsed_s: f64,
    /// Usage of the process while the clock ran.
    pub usage: Usage,
    /// The most memory that the process ever had, in bytes.
    pub peak_size: u64,
}

impl Measurement {
    /// Tasks or requests per second.
    pub fn rate(&self) -> f64 {
        self.count as f64 / self.elapsed_s
    }
}

/// Reads clock and consumption at the first task or request and at the end.
#[derive(Debug, Default)]
pub struct Meter {
    start: Option<(Usage, Instant)>,
}

impl Meter {
    /// Returns a meter that began with the process, and whose clock starts now.
    pub fn of_process() -> Self {
        Self { start: Some((Usage::default(), Instant::now())) }
    }

    /// Starts at the first task or request; further calls change nothing.
    pub fn begin(&mut self) -> Result<()> {
        if self.start.is_none() {
            self.start = Some((Usage::now()?, Instant::now()));
        }
        Ok(())
    }

    /// Returns the measurement of a member that had `count` tasks or requests.
    pub fn end(&self, count: u64) -> Result<Measurement> {
        let (elapsed_s, usage) = match &self.start {
            Some((usage, start)) => (start.elapsed().as_secs_f64(), Usage::now()?.since(usage)),
            None => (0.0, Usage::default()),
        };
        Ok(Measurement { count, elapsed_s, usage, peak_size: status_bytes(std::process::id(), "VmHWM")? })
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
