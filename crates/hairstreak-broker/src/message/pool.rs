//! `SegmentPool`: segments without messages, kept for the next ones and given back to the system some seconds later.
//!
//! Memory that is used for the first time costs more than the copy into it: the system clears each page, and the host of a
//! virtual machine may have to find it first (ADR 0021 has figures). So a burst of messages takes the memory of the burst before.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hairstreak_base::{AppendBuffer, trim_allocator};

/// Interval at which the pool is trimmed, in milliseconds.
const TRIM_MS: u64 = 1_000;
/// Number of trims after which an unused segment is freed.
const OUTLIVED_COUNT: u64 = 10;

/// Segments of all virtual hosts of a node that hold no message.
///
/// ```
/// use std::sync::Arc;
/// use hairstreak_broker::vhost::{Limits, SegmentPool, VirtualHost};
///
/// let pool = Arc::new(SegmentPool::new(1 << 30));
/// let hosts = ["/", "tests"].map(|name| VirtualHost::with_pool(name, Limits::default(), Arc::clone(&pool)));
/// assert_eq!(pool.trim(1_000), None, "the pool is empty and waits for nothing");
/// # drop(hosts);
/// ```
#[derive(Debug)]
pub struct SegmentPool {
    bytes_max: usize,
    state: Mutex<State>,
    /// The pool was empty when [`SegmentPool::trim`] was last called and has segments now.
    is_fresh: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// The segments, each with the number of trims before it came. The segment that came last is taken first.
    spares: VecDeque<(AppendBuffer, u64)>,
    bytes: usize,
    trim_count: u64,
    next_trim: Option<u64>,
}

impl SegmentPool {
    /// Creates a pool of at most `bytes_max` bytes. With 0 the pool keeps nothing.
    pub fn new(bytes_max: usize) -> SegmentPool {
        SegmentPool { bytes_max, state: Mutex::default(), is_fresh: AtomicBool::new(false) }
    }

    /// Returns true, once, if the pool was empty and has segments now. The caller then calls [`SegmentPool::trim`].
    pub fn take_is_fresh(&self) -> bool {
        self.is_fresh.load(Relaxed) && self.is_fresh.swap(false, Relaxed)
    }

    /// Gives segments that were not taken for ten seconds back to the system. `now`: milliseconds. Returns when to call again.
    pub fn trim(&self, now: u64) -> Option<u64> {
        let mut state = self.lock();
        let is_due = state.next_trim.is_some_and(|due| due <= now);
        state.trim_count += u64::from(is_due);
        let kept_since = state.trim_count.saturating_sub(OUTLIVED_COUNT);
        let old_count = state.spares.partition_point(|(_, since)| *since < kept_since);
        let old = state.spares.drain(..old_count).collect::<Vec<_>>();
        state.bytes -= old.iter().map(|(buffer, _)| buffer.capacity()).sum::<usize>();
        if is_due || state.next_trim.is_none() {
            state.next_trim = Some(now + TRIM_MS);
        }
        if state.spares.is_empty() {
            state.next_trim = None;
        }
        let next = state.next_trim;
        // The system takes the memory while others use the pool.
        drop(state);
        if !old.is_empty() && next.is_none() {
            drop(old);
            // Queues and the numbers of messages had small pieces of memory, which the allocator has kept.
            trim_allocator();
        }
        next
    }

    /// The memory of the pool, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.lock().bytes
    }

    pub(super) fn take(&self) -> Option<AppendBuffer> {
        let mut state = self.lock();
        let (buffer, _) = state.spares.pop_back()?;
        state.bytes -= buffer.capacity();
        Some(buffer)
    }

    /// Keeps the segment unless the pool is full.
    pub(super) fn put(&self, mut buffer: AppendBuffer) {
        buffer.clear();
        let mut state = self.lock();
        if state.bytes + buffer.capacity() > self.bytes_max {
            return drop(state);
        }
        if state.next_trim.is_none() {
            self.is_fresh.store(true, Relaxed);
        }
        state.bytes += buffer.capacity();
        let since = state.trim_count;
        state.spares.push_back((buffer, since));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No state is half changed where a panic is possible.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 1 << 16;

    fn pool(count: usize) -> SegmentPool {
        let pool = SegmentPool::new(4 * SIZE);
        (0..count).for_each(|_| pool.put(AppendBuffer::new(SIZE)));
        pool
    }

    #[test]
    fn the_pool_keeps_no_more_than_its_bound() {
        let pool = pool(6);
        assert_eq!(pool.memory_bytes(), 4 * SIZE);
        assert_eq!(pool.take().map(|buffer| (buffer.len(), buffer.capacity())), Some((0, SIZE)));
        assert_eq!(pool.memory_bytes(), 3 * SIZE);
    }

    #[test]
    fn segments_that_nobody_takes_go_after_ten_trims_and_those_in_use_stay() {
        let pool = pool(3);
        assert!(pool.take_is_fresh() && !pool.take_is_fresh());
        let mut next = pool.trim(0);
        assert_eq!(next, Some(TRIM_MS));
        // A call before the time changes nothing.
        assert_eq!(pool.trim(TRIM_MS - 1), next);
        for _ in 0..OUTLIVED_COUNT {
            pool.put(pool.take().unwrap());
            assert_eq!(pool.memory_bytes(), 3 * SIZE);
            next = pool.trim(next.unwrap());
        }
        next = pool.trim(next.unwrap());
        assert_eq!(pool.memory_bytes(), SIZE, "the one in use");
        while let Some(due) = next {
            next = pool.trim(due);
        }
        assert_eq!(pool.memory_bytes(), 0);
        pool.put(AppendBuffer::new(SIZE));
        assert!(pool.take_is_fresh());
    }
}
