//! The consumption of processes: processor time, voluntary context switches, allocations, memory.
//!
//! `Usage` comes from getrusage and includes the threads that a library starts for itself. Figures of other processes come from
//! `/proc`.

use std::fs;
use std::io;
use std::mem::MaybeUninit;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::allocations;

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
    pub fn now() -> Result<Self> {
        let mut usage = MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: getrusage fills the whole structure if it returns 0, and only then is it read.
        let usage = unsafe {
            match libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) {
                0 => usage.assume_init(),
                _ => return Err(io::Error::last_os_error().into()),
            }
        };
        Ok(Self {
            cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            system_s: seconds(usage.ru_stime),
            voluntary_switches: usage.ru_nvcsw.unsigned_abs(),
            allocations: allocations::count(),
        })
    }

    /// Returns the consumption between `earlier` and this reading.
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

/// Returns a figure in bytes of a process's status, such as `VmRSS` (resident) or `VmHWM` (the most that was resident).
///
/// Errors: there is no such process or figure.
pub fn status_bytes(process_id: u32, figure: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process_id}/status"))?;
    status_figure(&status, figure).with_context(|| format!("/proc/{process_id}/status has no {figure}"))
}

fn status_figure(status: &str, figure: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(figure)?.strip_prefix(':'))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Ticks of the kernel's count of processor time in a second (`USER_HZ`).
pub const TICKS_PER_S: f64 = 100.0;

/// Returns the user and system time of a process in seconds, in steps of 10 ms. With `with_children` the time of reaped
/// children counts too.
///
/// Errors: there is no such process.
pub fn processor_times(process_id: u32, with_children: bool) -> Result<[f64; 2]> {
    let stat = fs::read_to_string(format!("/proc/{process_id}/stat"))?;
    stat_times(&stat, with_children).with_context(|| format!("/proc/{process_id}/stat has no times"))
}

fn stat_times(stat: &str, with_children: bool) -> Option<[f64; 2]> {
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: Vec<f64> =
        fields.split_whitespace().skip(11).take(4).map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let &[user, system, child_user, child_system] = &ticks[..] else { return None };
    let children = if with_children { [child_user, child_system] } else { [0.0, 0.0] };
    Some([(user + children[0]) / TICKS_PER_S, (system + children[1]) / TICKS_PER_S])
}

#[cfg(test)]
mod tests {
    use super::{Usage, stat_times, status_figure};

    #[test]
    fn memory_is_read_from_the_status_of_a_process() {
        let status = "VmPeak:\t 9 kB\nVmHWM:\t    5124 kB\nVmRSS:\t 8 kB\n";
        assert_eq!(status_figure(status, "VmHWM"), Some(5124 * 1024));
        assert_eq!(status_figure("VmRSS:\t 8 kB\n", "VmHWM"), None);
    }

    #[test]
    fn processor_time_is_read_behind_a_name_with_a_parenthesis() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 3 2 20 0 1 0 99\n";
        assert_eq!(stat_times(stat, false), Some([2.5, 0.5]));
        assert_eq!(stat_times(stat, true), Some([2.53, 0.52]));
        assert_eq!(stat_times("7 (a) S 1", false), None);
    }

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
