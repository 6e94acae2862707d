//! Keeping a thread on a core. The scheduler often puts two threads that wake each other on one core, where they may
//! stay for a while. Without pinning, the same stages thus have two rates.
//!
//! - `burn`: spends processor time. `thread_time` and `process_time` read it.
//! - `lateness`: the delay of a sleeper's wake-up.

use std::num::NonZeroU64;
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use super::figures::{CalibrationError, median};

/// Returns the cores that this thread may use.
pub(super) fn cores() -> Vec<usize> {
    let allowed = sched_getaffinity(None).ok();
    allowed.map_or(Vec::new(), |allowed| (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect())
}

/// Keeps the calling thread, and all threads that it starts from now on, on core `index` of `cores`, modulo their
/// number.
pub(super) fn keep_to(cores: &[usize], index: usize) {
    if cores.is_empty() {
        return;
    }
    let mut one = CpuSet::new();
    one.set(cores[index % cores.len()]);
    // A container may forbid pinning. The figures then spread wider, and their range shows it.
    let _ = sched_setaffinity(None, &one);
}

/// Returns the time that this thread has had on cores.
pub(super) fn thread_time() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// Returns the time that all threads of this process have had on cores.
pub(super) fn process_time() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// Computes until this thread has had `time` on a core, which takes longer if other threads want the core too. Returns
/// the time on the core.
pub(crate) fn burn(time: Duration) -> Duration {
    let start = thread_time();
    loop {
        let burnt = thread_time() - start;
        if burnt >= time {
            return burnt;
        }
        std::hint::spin_loop();
    }
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Duration of a sleep, and the number of sleeps.
const SLEEP: Duration = Duration::from_millis(1);
const SLEEP_COUNT: usize = 300;

/// Returns the time between the end of a sleep and the return of the call: the median of many.
pub(super) fn lateness() -> Result<Duration, CalibrationError> {
    // A thread of its own, because the timer slack stays with it. Built-in stages have the same slack.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_to_one_core_and_others_are_left_alone() {
        let before = cores();
        let kept = std::thread::spawn(|| {
            let all = cores();
            keep_to(&all, all.len());
            (all[0], cores())
        });
        let (first, kept) = kept.join().unwrap();
        assert_eq!(kept, [first]);
        assert_eq!(cores(), before);
    }

    #[test]
    fn what_is_burnt_is_what_was_asked_for_or_more() {
        let before = thread_time();
        let burnt = burn(Duration::from_millis(2));
        let had = thread_time() - before;
        assert!(Duration::from_millis(2) <= burnt && burnt <= had, "{burnt:?} of {had:?}");
        assert!(process_time() >= had);
    }
}
