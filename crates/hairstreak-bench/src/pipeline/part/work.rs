//! The time that a task takes a worker.
//!
//! Four workers on fewer cores cannot compute at the same time, so a task of [`SLEEP_TIME_MIN`] or more is slept through,
//! like one that waits for a disk or for another service. A shorter one is spun through: falling asleep and waking up alone
//! takes as long.
//!
//! A sleeper wakes up late. The next task is shorter by that much, so that lateness does not add up; the time that a
//! worker spends between two tasks stays its own.

use std::num::NonZeroU64;
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{Timespec, clock_gettime};

/// Shorter tasks are spun through.
const SLEEP_TIME_MIN: Duration = Duration::from_micros(50);
/// The system puts wake-ups off by 50 us at most to have several at once; the least it can be asked for.
const TIMER_SLACK_NS: Option<NonZeroU64> = NonZeroU64::new(1);

/// The work of the thread that made it.
#[derive(Debug)]
pub(super) struct Work {
    task_time: Duration,
    /// Lateness of the last task.
    late: Duration,
}

impl Work {
    /// Returns the work of tasks that take `task_us` microseconds.
    pub fn new(task_us: u64) -> Result<Self, Errno> {
        if task_us > 0 {
            set_current_timer_slack(TIMER_SLACK_NS)?;
        }
        Ok(Self { task_time: Duration::from_micros(task_us), late: Duration::ZERO })
    }

    /// Returns when the task that begins now is done.
    #[inline]
    pub fn carry_out(&mut self) -> Result<(), Errno> {
        if self.task_time.is_zero() { Ok(()) } else { self.take_time() }
    }

    fn take_time(&mut self) -> Result<(), Errno> {
        let start = now();
        if self.task_time < SLEEP_TIME_MIN {
            let end = start + self.task_time;
            while now() < end {}
            return Ok(());
        }
        let end = self.end(start);
        sleep_until(end)?;
        self.note_end(end, now());
        Ok(())
    }

    /// Returns the end of a task that begins at `start`. Lateness beyond a task is lost: that is not a late wake-up but a processor
    /// that others had.
    fn end(&self, start: Duration) -> Duration {
        start + self.task_time.saturating_sub(self.late)
    }

    /// A task that should have ended at `end` did so at `now`.
    fn note_end(&mut self, end: Duration, now: Duration) {
        self.late = now.saturating_sub(end);
    }
}

/// On the clock that [`sleep_until`] goes by.
fn now() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

fn sleep_until(end: Duration) -> Result<(), Errno> {
    let end = Timespec { tv_sec: end.as_secs() as _, tv_nsec: end.subsec_nanos().into() };
    // Stopped and continued, a process is interrupted.
    rustix::io::retry_on_intr(|| clock_nanosleep_absolute(ClockId::Monotonic, &end))
}

#[cfg(test)]
mod tests {
    use super::{Duration, Work, now};

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_task_takes_its_time_whether_it_is_slept_or_spun_through() {
        for task_us in [10, 2_000] {
            let mut work = Work::new(task_us).unwrap();
            let start = now();
            work.carry_out().unwrap();
            assert!(now() - start >= Duration::from_micros(task_us), "{task_us}");
        }
    }

    #[test]
    fn what_a_task_was_late_is_taken_off_the_next() {
        let mut work = Work::new(1_000).unwrap();
        assert_eq!(work.end(5 * MS), 6 * MS);
        work.note_end(6 * MS, 6 * MS + MS / 4);
        // The worker had no task in between. That gap is not made up for.
        assert_eq!(work.end(9 * MS), 9 * MS + MS * 3 / 4);
        work.note_end(10 * MS, 10 * MS);
        assert_eq!(work.end(10 * MS), 11 * MS);
    }

    #[test]
    fn a_machine_that_stood_still_makes_one_task_shorter_and_no_more() {
        let mut work = Work::new(1_000).unwrap();
        work.note_end(6 * MS, 60 * MS);
        assert_eq!(work.end(60 * MS), 60 * MS);
        work.note_end(60 * MS, 60 * MS);
        assert_eq!(work.end(60 * MS), 61 * MS);
    }
}
