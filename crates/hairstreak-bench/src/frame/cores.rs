//! The core of a thread: keeps threads on cores of their own.
//!
//! Two threads that wake each other are often put on one core. They stay there for a whole sample or not, so the same
//! program has two rates. The benchmark's own threads therefore get a core each.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

/// Some of the cores that a process may use, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreRange {
    /// The first one.
    pub start: usize,
    /// The one behind the last.
    pub end: usize,
}

/// Keeps the calling thread on the `index`-th of the cores it may use, counted round and each round shifted by one, so
/// that even and odd numbers both meet all cores; leaves it where it is if it has only one to choose from, or none can
/// be chosen.
pub fn keep_to(index: usize) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
    if cores.len() < 2 {
        return;
    }
    let mut one = CpuSet::new();
    one.set(cores[(index + index / cores.len()) % cores.len()]);
    // A container may forbid it: then the samples spread wider, and the report shows it.
    let _ = sched_setaffinity(None, &one);
}

/// Keeps the calling thread, and all that it starts from now on, on the cores of `range`, if there are any.
pub fn keep_to_range(range: CoreRange) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cores = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
    let mut some = CpuSet::new();
    cores.skip(range.start).take(range.end.saturating_sub(range.start)).for_each(|core| some.set(core));
    if some.count() > 0 {
        // A container may forbid it: then the samples spread wider.
        let _ = sched_setaffinity(None, &some);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_that_has_no_core_changes_nothing() {
        let before = sched_getaffinity(None).expect("the affinity of this thread");
        keep_to_range(CoreRange { start: CpuSet::MAX_CPU, end: CpuSet::MAX_CPU + 2 });
        assert_eq!(sched_getaffinity(None).expect("the affinity of this thread"), before);
    }

    #[test]
    fn a_thread_keeps_to_one_core_and_others_are_left_alone() {
        let before = sched_getaffinity(None).expect("the affinity of this thread");
        let after = std::thread::spawn(|| {
            keep_to(1);
            sched_getaffinity(None)
        });
        let after = after.join().expect("no panic").expect("the affinity of that thread");
        assert_eq!(after.count(), 1);
        assert_eq!(sched_getaffinity(None).expect("the affinity of this thread"), before);
    }
}
