//! What a worker process has used so far: processor time, voluntary context switches, allocations.
//!
//! Read from getrusage for the whole process, so the threads a library starts for itself are included.

use std::io;
use std::mem::MaybeUninit;

use serde::{Deserialize, Serialize};

use crate::allocations;

/// Consumption of a process, either since its start or between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// User and system time of all threads.
    pub cpu_s: f64,
    /// The part of it that is system time.
    pub system_s: f64,
    /// Times a thread gave up the processor to wait: each is followed by one wake-up.
    pub voluntary_switches: u64,
    /// Allocations, when they are counted.
    pub allocations: u64,
}

impl Usage {
    /// The reading of this process since its start.
    pub fn now() -> Result<Self, io::Error> {
        let mut usage = MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: getrusage fills the whole structure if it returns 0, and only then is it read.
        let usage = unsafe {
            match libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) {
                0 => usage.assume_init(),
                _ => return Err(io::Error::last_os_error()),
            }
        };
        Ok(Self {
            cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            system_s: seconds(usage.ru_stime),
            voluntary_switches: usage.ru_nvcsw.unsigned_abs(),
            allocations: allocations::count(),
        })
    }

    /// What was used between `earlier` and this reading.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            cpu_s: self.cpu_s - earlier.cpu_s,
            system_s: self.system_s - earlier.system_s,
            voluntary_switches: self.voluntary_switches - earlier.voluntary_switches,
            allocations: self.allocations - earlier.allocations,
        }
    }

    /// Both processes of a sample together.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            cpu_s: self.cpu_s + other.cpu_s,
            system_s: self.system_s + other.system_s,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            allocations: self.allocations + other.allocations,
        }
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::Usage;

    #[test]
    fn a_difference_and_a_sum_undo_each_other() {
        let start = Usage { cpu_s: 1.0, system_s: 0.5, voluntary_switches: 10, allocations: 3 };
        let end = Usage { cpu_s: 1.5, system_s: 0.75, voluntary_switches: 12, allocations: 3 };
        assert_eq!(start.plus(&end.since(&start)), end);
    }

    #[test]
    fn readings_never_run_backwards() {
        let start = Usage::now().unwrap();
        let end = Usage::now().unwrap();
        assert!(end.since(&start).cpu_s >= 0.0);
    }
}
