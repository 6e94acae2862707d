//! What a part uses: time and processor time from its first task on, and the most memory it ever had.

use std::fs;
use std::io;
use std::time::Instant;

use crate::pipeline::task::Measurement;
use crate::usage::Usage;

/// Reads clock and consumption at the first task and at the end.
#[derive(Debug, Default)]
pub struct Meter {
    start: Option<(Usage, Instant)>,
}

impl Meter {
    /// The first task is here; further calls change nothing.
    pub fn begin(&mut self) -> Result<(), io::Error> {
        if self.start.is_none() {
            self.start = Some((Usage::now()?, Instant::now()));
        }
        Ok(())
    }

    /// The part is done.
    pub fn end(&self, task_count: u64) -> Result<Measurement, io::Error> {
        let (usage, elapsed_s) = match &self.start {
            Some((usage, start)) => {
                let elapsed_s = start.elapsed().as_secs_f64();
                (Usage::now()?.since(usage), elapsed_s)
            }
            None => (Usage::default(), 0.0),
        };
        Ok(Measurement { task_count, elapsed_s, usage, peak_size: peak_size()? })
    }
}

fn peak_size() -> Result<u64, io::Error> {
    let status = fs::read_to_string("/proc/self/status")?;
    high_water_mark(&status).ok_or_else(|| io::Error::other("/proc/self/status has no VmHWM"))
}

fn high_water_mark(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::{Meter, high_water_mark};

    #[test]
    fn the_most_memory_is_read_from_the_status_of_a_process() {
        assert_eq!(
            high_water_mark("VmPeak:\t 9 kB\nVmHWM:\t    5124 kB\nVmRSS:\t 8 kB\n"),
            Some(5124 * 1024)
        );
        assert_eq!(high_water_mark("VmRSS:\t 8 kB\n"), None);
    }

    #[test]
    fn a_part_that_had_no_task_used_nothing() {
        let measurement = Meter::default().end(0).unwrap();
        assert_eq!((measurement.elapsed_s, measurement.usage.cpu_s), (0.0, 0.0));
        assert!(measurement.peak_size > 0);
    }
}
