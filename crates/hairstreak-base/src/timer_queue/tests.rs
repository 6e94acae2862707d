//! Tests of the timer queue against a searched table, and of its other promises.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hairstreak_testkit::{Rng, rng};

use super::*;
use crate::sync::rounds;

/// Reference implementation: a table that is searched.
#[derive(Default)]
struct Naive {
    timers: BTreeMap<u32, u64>,
}

impl Naive {
    fn next(&self) -> Option<u64> {
        self.timers.values().min().copied()
    }

    fn set_earlier(&mut self, key: u32, at: u64) -> bool {
        let is_set = self.timers.get(&key).is_none_or(|set| at < *set);
        if is_set {
            self.timers.insert(key, at);
        }
        is_set
    }
}

fn check_invariants(queue: &TimerQueue<u64>) {
    for (place, entry) in queue.heap.iter().enumerate() {
        assert_eq!(queue.places[entry.key as usize], place as u32);
        assert!(place == 0 || queue.heap[parent_of(place)].at <= entry.at);
    }
    let set = queue.places.iter().filter(|place| **place != NOWHERE).count();
    assert_eq!(set, queue.heap.len());
}

/// Applies one step to both and compares the outcomes. Returns the time, which a pop may advance.
fn step(random: &mut Rng, queue: &mut TimerQueue<u64>, naive: &mut Naive, now: u64) -> u64 {
    let key_count = random.choice([1, 8, 300]).unwrap();
    let key = random.u32(..key_count);
    let at = now + random.u64(..40);
    match random.u32(..10) {
        0..=2 => {
            queue.set(key, at);
            naive.timers.insert(key, at);
        }
        3..=5 => assert_eq!(queue.set_earlier(key, at), naive.set_earlier(key, at)),
        6 => assert_eq!(queue.cancel(key), naive.timers.remove(&key).is_some()),
        7 => assert_eq!(queue.time_of(key), naive.timers.get(&key).copied()),
        _ => {
            let now = now + random.u64(..4);
            while let Some(key) = queue.pop_due(now) {
                assert_eq!(naive.timers[&key], naive.next().unwrap(), "the earliest comes first");
                assert!(naive.timers.remove(&key).unwrap() <= now);
            }
            assert!(naive.next().is_none_or(|next| next > now), "all that is due is popped");
            return now;
        }
    }
    now
}

#[test]
fn any_run_of_calls_does_what_a_searched_table_does() {
    let mut random = rng();
    for _ in 0..rounds(300) {
        let (mut queue, mut naive, mut now) = (TimerQueue::new(), Naive::default(), 0);
        for _ in 0..random.usize(..1000) {
            now = step(&mut random, &mut queue, &mut naive, now);
            assert_eq!((queue.next(), queue.count()), (naive.next(), naive.timers.len()));
            check_invariants(&queue);
        }
    }
}

#[test]
fn what_is_due_comes_in_the_order_of_time() {
    let start = Instant::now();
    let mut queue = TimerQueue::new();
    for key in 0..100u32 {
        queue.set(key, start + Duration::from_millis(u64::from(key * 37 % 100)));
    }
    let half = start + Duration::from_millis(49);
    let popped: Vec<_> = std::iter::from_fn(|| queue.pop_due(half)).collect();
    let expected: Vec<_> =
        (0..50).map(|milli| (0..100).find(|key| key * 37 % 100 == milli).unwrap()).collect();
    assert_eq!(popped, expected);
    assert_eq!(queue.next(), Some(start + Duration::from_millis(50)));
}

#[test]
fn a_timer_that_is_moved_fires_once_and_one_that_is_cancelled_never() {
    let mut queue = TimerQueue::new();
    queue.set(3, 10);
    queue.set(3, 20);
    assert_eq!(queue.pop_due(10), None);
    assert!(!queue.set_earlier(3, 25) && queue.set_earlier(3, 15));
    queue.set(70_000, 15);
    assert!(queue.cancel(70_000) && !queue.cancel(70_000) && !queue.cancel(1 << 30));
    assert_eq!((queue.pop_due(15), queue.pop_due(u64::MAX), queue.count()), (Some(3), None, 0));
}

#[test]
fn a_queue_that_has_its_size_allocates_nothing() {
    let mut queue = TimerQueue::new();
    (0..1000).for_each(|key| queue.set(key, u64::from(key)));
    let sizes = |queue: &TimerQueue<u64>| (queue.heap.capacity(), queue.places.capacity());
    let before = sizes(&queue);
    for now in 0..10_000 {
        while let Some(key) = queue.pop_due(now) {
            queue.set(key, now + 1000);
        }
    }
    assert_eq!((sizes(&queue), queue.count()), (before, 1000));
}
