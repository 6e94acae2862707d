//! The system's monotonic clock: the same in all processes.

use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::{Timespec, clock_gettime};

const NS_PER_S: u64 = 1_000_000_000;

/// Now, in nanoseconds.
#[inline]
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * NS_PER_S + now.tv_nsec.unsigned_abs()
}

/// Sleeps until it is `end_ns`.
pub fn sleep_until(end_ns: u64) -> Result<(), rustix::io::Errno> {
    let end = Timespec { tv_sec: (end_ns / NS_PER_S) as _, tv_nsec: (end_ns % NS_PER_S) as _ };
    rustix::io::retry_on_intr(|| clock_nanosleep_absolute(ClockId::Monotonic, &end))
}
