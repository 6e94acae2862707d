//! `beside_a_sleeper`: measures how late the machine wakes a sleeping thread. Tests of real processes must allow for that.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Calls `act` while a thread of this process sleeps for `time` over and over. Returns the result of `act` and the mean lateness
/// of the thread's wakeups. The lateness is zero if no sleep ended.
///
/// A machine with more runnable threads than processors wakes every thread late: this one and those of the tested processes.
///
/// ```
/// use std::time::Duration;
///
/// use hairstreak_testkit::beside_a_sleeper;
///
/// let (sum, lateness) = beside_a_sleeper(Duration::from_millis(1), || (1..=1_000_000_u64).sum::<u64>());
/// assert_eq!(sum, 500_000_500_000);
/// println!("a sleep took {lateness:?} longer than it should");
/// ```
pub fn beside_a_sleeper<T>(time: Duration, act: impl FnOnce() -> T) -> (T, Duration) {
    let (over, is_over) = channel::<()>();
    thread::scope(|scope| {
        let sleeper = scope.spawn(move || {
            let (mut count, mut late) = (0, Duration::ZERO);
            let mut start = Instant::now();
            while is_over.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                late += start.elapsed().saturating_sub(time);
                count += 1;
                start = Instant::now();
            }
            late / count.max(1)
        });
        let result = act();
        // Dropping the sender ends the sleep.
        drop(over);
        let lateness = sleeper.join().unwrap_or_default();
        (result, lateness)
    })
}
