//! Keeping a thread on a core. Two threads that wake each other are often put on one core, and stay there for a while or not: the same
//! stages then have two rates.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

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
}
