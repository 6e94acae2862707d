//! Time on a core: reading it, and spending it.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_burnt_is_what_was_asked_for_or_more() {
        let before = thread_time();
        let burnt = burn(Duration::from_millis(2));
        let had = thread_time() - before;
        assert!(Duration::from_millis(2) <= burnt && burnt <= had, "{burnt:?} of {had:?}");
        assert!(process_time() >= had);
    }
}
