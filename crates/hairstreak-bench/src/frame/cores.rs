//! The core of a thread: keeps threads on cores of their own.
//!
//! Two threads that wake each other are often put on one core. They stay there for a whole sample or not, so the same
//! program has two rates. The benchmark's own threads therefore get a core each.

use std::slice;

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
    keep(|cores| match cores.len() {
        0 | 1 => &[],
        count => slice::from_ref(&cores[(index + index / count) % count]),
    });
}

/// Keeps the calling thread, and all that it starts from now on, on the cores of `range`, if there are any.
pub fn keep_to_range(range: CoreRange) {
    keep(|cores| cores.get(range.start..range.end.min(cores.len())).unwrap_or_default());
}

/// Keeps the calling thread on those of its cores that `choose` returns, if any.
fn keep(choose: impl FnOnce(&[usize]) -> &[usize]) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
    let mut chosen = CpuSet::new();
    choose(&cores).iter().for_each(|&core| chosen.set(core));
    if chosen.count() > 0 {
        // A container may forbid it: then the samples spread wider, and the report shows it.
        let _ = sched_setaffinity(None, &chosen);
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
