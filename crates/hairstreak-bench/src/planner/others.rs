//! How much of the machine others had: a run that shared the cores says nothing about a prediction.
//!
//! Linux counts the time that all cores were busy (`/proc/stat`) and the time that this process and its children had
//! (`/proc/self/stat`), both in ticks of 10 ms; the difference is what others had. Children count once they have ended.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Cores that others may keep busy during a run that counts.
pub const QUIET_CORES: f64 = 0.04;
/// Ticks a second (`USER_HZ`).
const TICKS_PER_S: f64 = 100.0;
/// How long is looked whether the machine is quiet.
const LOOK: Duration = Duration::from_secs(1);

/// One reading of both counts.
pub(super) struct Others {
    at: Instant,
    ticks: Option<f64>,
    own_ticks: Option<f64>,
}

impl Others {
    pub(super) fn now() -> Others {
        let all = fs::read_to_string("/proc/stat").ok().and_then(|text| busy_ticks(&text));
        let own = fs::read_to_string("/proc/self/stat").ok().and_then(|text| own_ticks(&text));
        Others { at: Instant::now(), ticks: all.zip(own).map(|(all, own)| all - own), own_ticks: own }
    }

    /// The time on cores that this process and its children had since then, in seconds.
    pub(super) fn own_s_since(&self) -> Option<f64> {
        Some((Others::now().own_ticks? - self.own_ticks?) / TICKS_PER_S)
    }

    /// Cores that others kept busy since then, on average. Nothing where the system does not say it.
    pub(super) fn cores_since(&self) -> Option<f64> {
        let now = Others::now();
        let ticks = now.ticks? - self.ticks?;
        Some((ticks / TICKS_PER_S / (now.at - self.at).as_secs_f64()).max(0.0))
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

/// User and system time of the process and of the children it has waited for.
fn own_ticks(text: &str) -> Option<f64> {
    // The second field, the name, is in brackets and may have anything inside.
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    fields.get(11..15)?.iter().map(|word| word.parse::<f64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_read_where_they_stand() {
        assert_eq!(busy_ticks("cpu  1 2 4 100 100 8 16 32 0 0\ncpu0 9 9 9 9\n"), Some(63.0));
        let stat = "42 (a) b) S 1 42 42 0 -1 4194560 100 200 0 0 1 2 4 8 20 0 1 0";
        assert_eq!(own_ticks(stat), Some(15.0));
        assert_eq!((busy_ticks("cpu 1"), own_ticks("42")), (None, None));
    }

    #[test]
    fn this_process_is_none_of_the_others() {
        let before = Others::now();
        assert!(before.ticks.is_some(), "Linux says it");
        assert!(before.cores_since().is_some_and(f64::is_finite));
    }
}
