//! `Deadlines`: finds the overdue tasks of a source.
//!
//! A common time for all tasks costs nothing for each of them. The source is checked periodically: tasks handed over
//! between two checks count as handed over at the later one. A task is therefore found overdue at most two intervals
//! late, a sixteenth of its time, and never early. Times of single tasks are kept in a heap.
//!
//! If tasks are settled in order, tasks behind an abandoned one may be done already, but cannot be settled before it
//! is given up. The first is therefore given up alone. Further ones follow after some patience, twice as many each
//! time, as long as that settles nothing.
//!
//! Invariant: checks ascend, by task and by time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

use super::ranges::Ranges;

/// Number of checks in the time of a task.
const LOOKS: u32 = 32;
/// Shortest interval between two checks, because each may search all sent messages.
const INTERVAL_MIN: Duration = Duration::from_millis(1);
const INTERVAL_MAX: Duration = Duration::from_millis(500);
/// Patience with the tasks behind a given-up one: a part of the time of a task, and a minimum.
const PATIENCE_PARTS: u32 = 4;
const PATIENCE_MIN: Duration = Duration::from_millis(200);
/// Number of single times that triggers the first check for settled tasks.
const SINGLE_COUNT_MIN: usize = 64;

/// Deadlines of the tasks of one source, by sequence number.
#[derive(Clone, Debug, Default)]
pub struct Deadlines {
    /// Time of each task.
    all: Option<Duration>,
    /// Past checks. Tasks below the number had been handed over at that time.
    looks: VecDeque<(u64, Instant)>,
    single: BinaryHeap<Reverse<(Instant, u64)>>,
    /// Number of single times that triggers the next check for settled tasks.
    single_count_max: usize,
    next_look: Option<Instant>,
    /// Checks are scheduled for the common time of all tasks.
    is_awake: bool,
    /// Tasks found overdue.
    overdue: Overdue,
    /// With settlement in order: the number of tasks given up next, and the earliest time of that.
    patience: Option<(u64, Option<Instant>)>,
}

/// Overdue tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overdue {
    below: u64,
    single: Ranges,
    /// Tasks from this number on are not given up yet.
    end: u64,
}

impl Overdue {
    /// Returns whether an unsettled task is overdue.
    pub fn has(&self, sequence: u64) -> bool {
        sequence < self.end && (sequence < self.below || self.single.contains(sequence))
    }
}

impl Deadlines {
    /// Creates the deadlines with a common time for each task. `in_order`: tasks are settled in order.
    pub fn new(all: Option<Duration>, in_order: bool) -> Deadlines {
        let patience = in_order.then_some((1, None));
        Deadlines { all, patience, single_count_max: SINGLE_COUNT_MIN, ..Deadlines::default() }
    }

    /// Returns the time of the next check.
    pub fn next_look(&self) -> Option<Instant> {
        self.next_look
    }

    /// Returns whether tasks have a common time, but no check is scheduled for new ones.
    pub fn is_asleep(&self) -> bool {
        self.all.is_some() && !self.is_awake
    }

    /// Schedules a check. Called before tasks are handed over.
    pub fn wake(&mut self, now: Instant) {
        if let Some(all) = self.all {
            self.is_awake = true;
            self.look_by(now + interval(all));
        }
    }

    /// Sets the deadline of one task.
    pub fn set(&mut self, sequence: u64, by: Instant) {
        self.single.push(Reverse((by, sequence)));
        self.look_by(by);
    }

    /// Returns whether enough single times have accumulated to call [`Deadlines::keep`].
    pub fn is_crowded(&self) -> bool {
        self.single.len() >= self.single_count_max
    }

    /// Keeps only the times of the unsettled tasks.
    pub fn keep(&mut self, unsettled: &Ranges) {
        self.single.retain(|Reverse((_, sequence))| unsettled.contains(*sequence));
        self.single_count_max = (2 * self.single.len()).max(SINGLE_COUNT_MIN);
    }

    /// Checks for overdue tasks. Tasks below `next` have been handed over; `first` is the first unsettled one, if
    /// any. Returns the tasks to give up, which may include settled ones. `None` if there are none.
    pub fn look(&mut self, now: Instant, next: u64, first: Option<u64>) -> Option<&Overdue> {
        if let Some(all) = self.all {
            if self.looks.back().is_none_or(|(before, _)| *before < next) {
                self.looks.push_back((next, now));
            }
            while let Some((below, by)) = self.looks.front()
                && now.saturating_duration_since(*by) >= all
            {
                self.overdue.below = *below;
                self.looks.pop_front();
            }
        }
        while let Some(Reverse((by, sequence))) = self.single.peek()
            && *by <= now
        {
            self.overdue.single.insert(*sequence..*sequence + 1);
            self.single.pop();
        }
        let first = first?;
        self.overdue.single.remove_below(first);
        let is_first = first < self.overdue.below;
        let begin = if is_first { Some(first) } else { self.overdue.single.first_of(first..u64::MAX) };
        self.overdue.end = u64::MAX;
        if let Some((count, until)) = &mut self.patience {
            if until.is_some_and(|until| until > now) {
                return None;
            }
            let patience = self.all.map_or(PATIENCE_MIN, |all| (all / PATIENCE_PARTS).max(PATIENCE_MIN));
            self.overdue.end = begin.map_or(0, |begin| begin.saturating_add(*count));
            (*count, *until) = match begin {
                Some(_) => (count.saturating_mul(2), Some(now + patience)),
                None => (1, None),
            };
        }
        begin.map(|_| &self.overdue)
    }

    /// Schedules the next check, after a check. `first_unsettled` is the first unsettled task, if any.
    pub fn look_again(&mut self, now: Instant, first_unsettled: Option<u64>) {
        (self.next_look, self.is_awake) = (None, false);
        while self.looks.front().is_some_and(|(below, _)| first_unsettled.is_none_or(|first| *below <= first))
        {
            self.looks.pop_front();
        }
        match first_unsettled {
            Some(_) => self.wake(now),
            None => {
                self.single.clear();
                self.overdue.single = Ranges::new();
            }
        }
        if let Some((_, Some(until))) = self.patience
            && !self.overdue.single.is_empty()
        {
            self.look_by(until);
        }
        if let Some(Reverse((by, _))) = self.single.peek() {
            self.look_by((*by).max(now + INTERVAL_MIN));
        }
    }

    fn look_by(&mut self, at: Instant) {
        self.next_look = Some(self.next_look.map_or(at, |next| next.min(at)));
    }
}

fn interval(all: Duration) -> Duration {
    (all / LOOKS).clamp(INTERVAL_MIN, INTERVAL_MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn what_was_handed_over_between_two_looks_has_its_time_from_the_later_one() {
        let begin = Instant::now();
        let mut deadlines = Deadlines::new(Some(ms(320)), false);
        assert!(deadlines.is_asleep());
        deadlines.wake(begin);
        assert_eq!((deadlines.next_look(), deadlines.is_asleep()), (Some(begin + ms(10)), false));
        assert!(deadlines.look(begin + ms(10), 5, Some(0)).is_none());
        deadlines.look_again(begin + ms(10), Some(0));
        assert_eq!(deadlines.next_look(), Some(begin + ms(20)));
        assert!(deadlines.look(begin + ms(20), 9, Some(0)).is_none());
        assert!(deadlines.look(begin + ms(329), 9, Some(0)).is_none());
        let overdue = deadlines.look(begin + ms(330), 9, Some(0)).unwrap();
        assert!(overdue.has(0) && overdue.has(4) && !overdue.has(5));
        deadlines.look_again(begin + ms(330), Some(5));
        let overdue = deadlines.look(begin + ms(340), 9, Some(5)).unwrap();
        assert!(overdue.has(8) && !overdue.has(9));
        deadlines.look_again(begin + ms(340), None);
        assert!(deadlines.is_asleep());
    }

    #[test]
    fn looks_are_neither_too_frequent_nor_too_seldom() {
        let begin = Instant::now();
        for (all, interval) in [(0, 1), (1, 1), (64, 2), (3_600_000, 500)] {
            let mut deadlines = Deadlines::new(Some(ms(all)), false);
            deadlines.wake(begin);
            assert_eq!(deadlines.next_look(), Some(begin + ms(interval)));
        }
        let mut single = Deadlines::new(None, false);
        single.set(0, begin);
        single.set(1, begin);
        assert_eq!(single.next_look(), Some(begin));
        single.look_again(begin, Some(0));
        assert_eq!(single.next_look(), Some(begin + ms(1)), "though it is due already");
    }

    #[test]
    fn in_order_what_waits_behind_a_task_that_was_given_up_has_some_time_left() {
        let begin = Instant::now();
        let mut deadlines = Deadlines::new(Some(ms(1000)), true);
        deadlines.wake(begin);
        let mut given_up = |at: u64, first: u64| {
            let now = begin + ms(at);
            let overdue = deadlines.look(now, 100, Some(first)).cloned().unwrap_or_default();
            deadlines.look_again(now, Some(first));
            (0..200).rfind(|sequence| overdue.has(*sequence)).map_or(0, |last| last + 1 - first)
        };
        assert_eq!((given_up(0, 0), given_up(999, 0)), (0, 0));
        assert_eq!((given_up(1000, 0), given_up(1249, 1)), (1, 0));
        assert_eq!((given_up(1250, 1), given_up(1500, 3), given_up(1750, 7)), (2, 4, 8));
        assert_eq!((given_up(2000, 95), given_up(3000, 100)), (5, 0), "all that were handed over");
        let mut single = Deadlines::new(None, true);
        [3, 4].into_iter().for_each(|sequence| single.set(sequence, begin));
        let overdue = single.look(begin, 9, Some(0)).unwrap();
        assert!(overdue.has(3) && !overdue.has(4) && !overdue.has(0), "the first has time");
        single.look_again(begin, Some(0));
        assert_eq!(single.next_look(), Some(begin + ms(200)));
        // The deadlines do not know yet that the first of both is settled.
        assert!(single.look(begin + ms(200), 9, Some(0)).unwrap().has(4));
    }

    #[test]
    fn of_single_times_no_more_are_kept_than_twice_as_many_as_are_not_settled() {
        let begin = Instant::now();
        let mut deadlines = Deadlines::new(None, false);
        for sequence in 0..10_000 {
            deadlines.set(sequence, begin + ms(1000));
            if deadlines.is_crowded() {
                let mut unsettled = Ranges::new();
                unsettled.insert(sequence.saturating_sub(99)..sequence + 1);
                deadlines.keep(&unsettled);
            }
            assert!(deadlines.single.len() <= 201, "{}", deadlines.single.len());
        }
        assert!(deadlines.look(begin + ms(1000), 10_000, Some(9_999)).unwrap().has(9_999));
    }

    proptest! {
        /// Tasks are handed over and settled at any time. Checks come on time, or somewhat late.
        #[test]
        fn each_task_is_overdue_never_early_and_little_late(
            all in prop::option::of(0..300u64),
            steps in prop::collection::vec((0..5u64, 0..20u64, 0..4u8, 0..400u64), 1..120),
        ) {
            let begin = Instant::now();
            let mut deadlines = Deadlines::new(all.map(ms), false);
            // Time of the handover of each unsettled task, and its own deadline.
            let mut tasks = BTreeMap::<u64, (Instant, Option<Instant>)>::new();
            let (mut next, mut now) = (0, begin);
            // Each check may be 20 ms late.
            let late = 2 * (all.map_or(ms(0), |all| interval(ms(all))) + ms(20) + INTERVAL_MIN);
            for (count, wait, action, within) in steps {
                match action {
                    0 => tasks.retain(|sequence, _| sequence % 7 != within % 7),
                    1 => {
                        let by = now + ms(within);
                        tasks.insert(next, (now, Some(by)));
                        deadlines.set(next, by);
                        next += 1;
                        if deadlines.is_asleep() {
                            deadlines.wake(now);
                        }
                    }
                    _ => {
                        if count > 0 && deadlines.is_asleep() {
                            deadlines.wake(now);
                        }
                        (next..next + count).for_each(|sequence| { tasks.insert(sequence, (now, None)); });
                        next += count;
                    }
                }
                now += ms(wait);
                if deadlines.next_look().is_none_or(|at| at > now) {
                    prop_assert!(deadlines.next_look().is_some() || tasks.is_empty() || all.is_none());
                    continue;
                }
                let overdue = deadlines.look(now, next, tasks.keys().next().copied()).cloned().unwrap_or_default();
                for (sequence, (handed, by)) in &tasks {
                    let due = all.map(|all| *handed + ms(all)).into_iter().chain(*by).min();
                    let is_due = due.is_some_and(|due| due <= now);
                    prop_assert!(is_due || !overdue.has(*sequence), "early");
                    let is_late = due.is_some_and(|due| due + late < now);
                    prop_assert!(!is_late || overdue.has(*sequence), "late");
                }
                tasks.retain(|sequence, _| !overdue.has(*sequence));
                deadlines.look_again(now, tasks.keys().next().copied());
                prop_assert!(!tasks.is_empty() || deadlines.next_look().is_none());
            }
        }
    }
}
