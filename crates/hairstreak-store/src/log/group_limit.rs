//! `GroupLimit`: the most bytes of the next group, from the times of the groups before.
//!
//! A group with its sync takes a fixed time and a time for its bytes. Only the second one grows with the group. On a disk whose syncs
//! take 5 ms a large group costs little more than a small one, and carries many more confirms.

use std::time::Duration;

/// Bytes of a group that are always allowed.
const BYTES_MIN: usize = 1 << 20;
/// Most bytes of a group, unless a single batch is larger.
pub(super) const GROUP_BYTES_MAX: usize = 8 << 20;
/// Time that the bytes of a group of the largest size should take.
const BYTES_TIME: Duration = Duration::from_millis(5);
/// Smallest group that tells how fast the disk is.
const MEASURED_BYTES_MIN: usize = 64 << 10;
/// A part by which the fixed time rises with each group: the disk may have become slower.
const RISE_PART: u32 = 64;

/// The limit of the next group.
#[derive(Debug)]
pub(super) struct GroupLimit {
    /// Shortest time of a group with its sync.
    fixed_time: Duration,
    bytes_max: usize,
}

impl GroupLimit {
    pub fn new() -> GroupLimit {
        GroupLimit { fixed_time: Duration::MAX, bytes_max: BYTES_MIN }
    }

    /// Most bytes of the next group.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Notes the time of a group with its sync. The limit at most doubles: a time that is no longer than the fixed one says little.
    pub fn note(&mut self, bytes: usize, time: Duration) {
        self.fixed_time = time.min(self.fixed_time.saturating_add(self.fixed_time / RISE_PART));
        if bytes >= MEASURED_BYTES_MIN {
            let rate = bytes as f64 / (time - self.fixed_time).as_secs_f64();
            let bytes_max = (rate * BYTES_TIME.as_secs_f64()) as usize;
            self.bytes_max = bytes_max.min(2 * bytes).clamp(BYTES_MIN, GROUP_BYTES_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Limits after groups that are as large as they may be, behind 100 small groups.
    fn limits(sync: Duration, bytes_per_s: f64) -> Vec<usize> {
        let mut limit = GroupLimit::new();
        (0..100).for_each(|_| limit.note(512, sync));
        let limits = (0..300).map(|_| {
            let bytes = limit.bytes_max();
            limit.note(bytes, sync + Duration::from_secs_f64(bytes as f64 / bytes_per_s));
            limit.bytes_max()
        });
        limits.collect()
    }

    #[test]
    fn groups_grow_where_syncs_are_slow_and_bytes_are_fast() {
        for sync_us in [70, 5_000, 20_000] {
            let limits = limits(Duration::from_micros(sync_us), 3e9);
            assert_eq!(limits.last(), Some(&GROUP_BYTES_MAX), "{sync_us}");
        }
    }

    #[test]
    fn groups_stay_small_where_bytes_are_slow() {
        for sync_us in [70, 5_000, 20_000] {
            let limits = limits(Duration::from_micros(sync_us), 100e6);
            assert!(limits.iter().all(|limit| *limit <= 2 * BYTES_MIN), "{sync_us}: {limits:?}");
        }
    }
}
