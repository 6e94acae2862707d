//! Keeping a thread on a core. Two threads that wake each other are often put on one core, and stay there for a while or not: the same
//! stages then have two rates.
//!
//! - `burn`: spends processor time; `thread_time`, `process_time` read it.
//! - `lateness`: the delay of a sleeper's wake-up.

use std::num::NonZeroU64;
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use super::figures::{CalibrationError, median};

/// The cores that this thread may use.
pub(super) fn cores() -> Vec<usize> {
    let allowed = sched_getaffinity(None).ok();
    allowed.map_or(Vec::new(), |allowed| (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect())
}

/// Keeps the calling thread, and all that it starts from now on, on the `index`-th of these cores, counted round.
pub(super) fn keep_to(cores: &[usize], index: usize) {
    if cores.is_empty() {
        return;
    }
    let mut one = CpuSet::new();
    one.set(cores[index % cores.len()]);
    // A container may forbid it: then the figures spread wider, and their range shows it.
    let _ = sched_setaffinity(None, &one);
}

/// The time on cores that this thread has had.
pub(super) fn thread_time() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// The time on cores that all threads of this process have had.
pub(super) fn process_time() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// Computes until this thread has had so much of a core: longer than that where others want the core, too. Returns how
/// much it was.
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

/// Duration and number of the sleeps.
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
