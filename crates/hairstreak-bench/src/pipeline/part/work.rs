//! The time that a task takes a worker.
//!
//! Four workers on fewer cores cannot compute at the same time, so a task of [`SLEEP_TIME_MIN`] or more is slept through,
//! like one that waits for a disk or for another service. A shorter one is spun through: falling asleep and waking up alone
//! takes as long.
//!
//! A sleeper wakes up late. The next task is shorter by that much, so that lateness does not add up; the time that a
//! worker spends between two tasks stays its own.

use std::num::NonZeroU64;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::thread::set_current_timer_slack;

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
    pub fn carry_out(&mut self) {
        if !self.task_time.is_zero() {
            self.take_time();
        }
    }

    fn take_time(&mut self) {
        let start = Instant::now();
        if self.task_time < SLEEP_TIME_MIN {
            while start.elapsed() < self.task_time {}
            return;
        }
        thread::sleep(self.sleep_time());
        self.note(start.elapsed());
    }

    /// Returns the length of the next sleep. Lateness beyond a task is lost: that is not a late wake-up but a processor
    /// that others had.
    fn sleep_time(&self) -> Duration {
        self.task_time.saturating_sub(self.late)
    }

    /// A task that should have taken [`Self::sleep_time`] took `time`.
    fn note(&mut self, time: Duration) {
        self.late = time.saturating_sub(self.sleep_time());
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, Work};

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_task_takes_its_time_whether_it_is_slept_or_spun_through() {
        for task_us in [10, 2_000] {
            let mut work = Work::new(task_us).unwrap();
            let start = Instant::now();
            work.carry_out();
            assert!(start.elapsed() >= Duration::from_micros(task_us), "{task_us}");
        }
    }

    #[test]
    fn what_a_task_was_late_is_taken_off_the_next() {
        let mut work = Work::new(1_000).unwrap();
        assert_eq!(work.sleep_time(), MS);
        work.note(MS + MS / 4);
        assert_eq!(work.sleep_time(), MS * 3 / 4);
        work.note(MS * 3 / 4);
        assert_eq!(work.sleep_time(), MS);
    }

    #[test]
    fn a_machine_that_stood_still_makes_one_task_shorter_and_no_more() {
        let mut work = Work::new(1_000).unwrap();
        work.note(55 * MS);
        assert_eq!(work.sleep_time(), Duration::ZERO);
        work.note(Duration::ZERO);
        assert_eq!(work.sleep_time(), MS);
    }
}
