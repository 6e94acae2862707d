//! How late the machine wakes a sleeper: what a test of real processes may not hold against them.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Does something while a thread of this process sleeps for `time` over and over. Returns what was done, and how late the
/// thread woke on average; zero if it never slept to the end.
///
/// A machine with more to do than it has processors wakes everybody late, this thread like the processes that are tested.
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
