//! The load of other processes on the machine: a run that shared the cores proves nothing about a prediction.
//!
//! Linux counts the busy time of all cores (`/proc/stat`) and the time of this process and its children
//! (`/proc/self/stat`), both in ticks of 10 ms. The difference is the time of other processes. Children count once they
//! have ended.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::frame::usage::{TICKS_PER_S, processor_times};

/// Cores that others may keep busy during a run that counts.
pub const QUIET_CORES: f64 = 0.04;
/// The time of a look at the machine.
const LOOK: Duration = Duration::from_secs(1);

/// One reading of both counts.
pub(super) struct Others {
    at: Instant,
    /// Seconds on cores of all other processes since the start of the system.
    others_s: Option<f64>,
    /// Seconds on cores of this process and its children.
    own_s: Option<f64>,
}

impl Others {
    pub(super) fn now() -> Others {
        let all = fs::read_to_string("/proc/stat").ok().and_then(|text| busy_ticks(&text));
        let own = processor_times(std::process::id(), true).ok().map(|times| times.iter().sum());
        Others {
            at: Instant::now(),
            others_s: all.zip(own).map(|(all, own)| all / TICKS_PER_S - own),
            own_s: own,
        }
    }

    /// The time on cores that this process and its children had since then, in seconds.
    pub(super) fn own_s_since(&self) -> Option<f64> {
        Some(Others::now().own_s? - self.own_s?)
    }

    /// The cores that other processes kept busy since then, on average. `None` if the system does not report it.
    pub(super) fn cores_since(&self) -> Option<f64> {
        let now = Others::now();
        Some(((now.others_s? - self.others_s?) / (now.at - self.at).as_secs_f64()).max(0.0))
    }
}

/// Waits until others keep less than `cores` busy for a second, or `patience` is over.
pub(super) fn wait_for_quiet(cores: f64, patience: Duration) {
    let deadline = Instant::now() + patience;
    while Instant::now() < deadline {
        let before = Others::now();
        thread::sleep(LOOK);
        if before.cores_since().is_none_or(|others| others < cores) {
            return;
        }
    }
}

/// User, nice, system, interrupts and stolen time of all cores.
fn busy_ticks(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<f64> = line.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let [user, nice, system, _idle, _iowait, interrupts, soft, stolen, ..] = ticks.as_slice() else {
        return None;
    };
    Some(user + nice + system + interrupts + soft + stolen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_read_where_they_stand() {
        assert_eq!(busy_ticks("cpu  1 2 4 100 100 8 16 32 0 0\ncpu0 9 9 9 9\n"), Some(63.0));
        assert_eq!(busy_ticks("cpu 1"), None);
    }

    #[test]
    fn this_process_is_none_of_the_others() {
        let before = Others::now();
        assert!(before.others_s.is_some(), "Linux says it");
        assert!(before.cores_since().is_some_and(f64::is_finite));
    }
}
