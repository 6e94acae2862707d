//! `Seen`: the tasks of a source that have had their result, and the order in which results are delivered.
//!
//! Invariants: every task below `floor` is settled, so that a result of it is a duplicate; `seen` has no task below.
//! Waiting tasks have been seen. In order, a task that was seen and does not wait has had its turn, or will have no
//! result.

use std::collections::BTreeMap;

use super::ranges::Ranges;
use super::task::{Content, TaskId, TaskRun};

/// Largest number of ranges in the memory of a source. Beyond it, tasks that are passed over are not recorded:
/// results that wait for them then wait for the floor. Twice the need of the largest window that grows by itself.
const RANGE_COUNT_MAX: usize = 200_000;

/// Next event of a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready<M> {
    /// A result for the application.
    Result(TaskId, M),
    /// A task that is done and has no result.
    Over(TaskId),
    /// A task whose result is not delivered: it arrived again, or the task was refused. The completion of the task is
    /// not reported.
    Dropped(TaskId),
}

impl<M> Ready<M> {
    /// Returns the task.
    pub fn task(&self) -> TaskId {
        let (Ready::Result(task, _) | Ready::Over(task) | Ready::Dropped(task)) = self;
        *task
    }
}

/// A sink's state for one source.
#[derive(Clone, Debug)]
pub struct Seen<M> {
    floor: u64,
    seen: Ranges,
    /// Number of results delivered, each counted once.
    pub count: u64,
    /// Number of tasks that were done and had no result.
    pub blank_count: u64,
    /// Number of delivered results that the application rejected.
    pub unwanted_count: u64,
    /// Number of results that were not delivered: they arrived again, or their task had been refused.
    pub duplicate_count: u64,
    /// Number of tasks, delivered or without a result, that were sent more than once.
    pub redelivered_count: u64,
    /// With delivery in order: the results that wait for an earlier one, and the next sequence number.
    waiting: BTreeMap<u64, Waiting<M>>,
    next: u64,
}

/// A result that waits for its turn.
#[derive(Clone, Debug)]
struct Waiting<M> {
    next: Ready<M>,
    is_redelivered: bool,
}

impl<M> Default for Seen<M> {
    fn default() -> Seen<M> {
        Seen {
            floor: 0,
            seen: Ranges::new(),
            count: 0,
            blank_count: 0,
            unwanted_count: 0,
            duplicate_count: 0,
            redelivered_count: 0,
            waiting: BTreeMap::new(),
            next: 0,
        }
    }
}

impl<M> Seen<M> {
    /// Takes the results of a run of `count` tasks. New ones go to `ready`, or wait for their turn if `keep_order`.
    pub fn take(
        &mut self,
        run: TaskRun,
        count: u64,
        messages: impl Iterator<Item = M>,
        keep_order: bool,
        ready: &mut impl FnMut(Ready<M>),
    ) {
        let first = run.id.sequence;
        let range = first..first + count;
        let is_new = first >= self.floor && self.seen.insert(range.clone());
        for (offset, message) in messages.enumerate() {
            let TaskRun { id, deliveries, content } = run.plus(offset as u64);
            let sequence = id.sequence;
            if !is_new && (sequence < self.floor || !self.seen.insert(sequence..sequence + 1)) {
                self.duplicate_count += 1;
                if !self.waiting.contains_key(&sequence) {
                    // A copy of a waiting result is settled by its task id, together with the first one.
                    ready(Ready::Dropped(id));
                }
                continue;
            }
            let next = match content {
                Content::Nothing => Ready::Over(id),
                Content::Message | Content::Group => Ready::Result(id, message),
            };
            let next = Waiting { next, is_redelivered: deliveries > 0 };
            if keep_order {
                self.waiting.insert(sequence, next);
            } else {
                self.hand_out(next, ready);
            }
        }
        if keep_order {
            self.deliver(ready);
        }
    }

    /// Takes the results of a run of `count` tasks if each has a result, all are new and, if `keep_order`, it is
    /// their turn. The caller delivers them. Returns whether the results were taken; otherwise nothing has changed.
    pub fn take_new(&mut self, run: TaskRun, count: u64, keep_order: bool) -> bool {
        let first = run.id.sequence;
        let next = self.next.max(self.floor);
        if first < self.floor
            || run.content != Content::Message
            || keep_order && (first != next || !self.waiting.is_empty())
        {
            return false;
        }
        let is_new = self.seen.insert(first..first + count);
        if is_new {
            self.count += count;
            self.redelivered_count += if run.deliveries > 0 { count } else { 0 };
            if keep_order {
                self.next = self.seen.last_from(first).map_or(self.next, |last| last + 1);
            }
        }
        is_new
    }

    /// Marks all tasks below `next` as settled, except these. Results of settled tasks are duplicates.
    pub fn skip_settled(
        &mut self,
        next: u64,
        left: impl Iterator<Item = (u64, u64)>,
        ready: &mut impl FnMut(Ready<M>),
    ) {
        let mut at = self.floor;
        for (first, count) in left.chain([(next, 0)]) {
            self.pass_over(at, first.min(next).saturating_sub(at), ready);
            at = first.saturating_add(count).max(at);
        }
    }

    /// Marks these tasks as settled, `count` in sequence from `first` on. No result of them is delivered from now on,
    /// neither new nor waiting ones.
    pub fn pass_over(&mut self, first: u64, count: u64, ready: &mut impl FnMut(Ready<M>)) {
        let range = first.max(self.floor)..first.saturating_add(count);
        if range.is_empty() {
            return;
        }
        let waiting = self.waiting.range(range.clone()).map(|(sequence, _)| *sequence).collect::<Vec<_>>();
        for dropped in waiting.iter().filter_map(|sequence| self.waiting.remove(sequence)) {
            self.duplicate_count += 1;
            ready(Ready::Dropped(dropped.next.task()));
        }
        for part in self.seen.missing_in(range).collect::<Vec<_>>() {
            if self.seen.range_count() < RANGE_COUNT_MAX {
                self.seen.insert(part);
            }
        }
        self.deliver(ready);
    }

    /// Marks all tasks below `floor` as settled. Tasks without a result will have none.
    pub fn raise_floor(&mut self, floor: u64, ready: &mut impl FnMut(Ready<M>)) {
        self.floor = self.floor.max(floor);
        self.seen.remove_below(self.floor);
        self.deliver(ready);
    }

    fn deliver(&mut self, ready: &mut impl FnMut(Ready<M>)) {
        self.next = self.next.max(self.floor);
        loop {
            let behind = self.seen.last_from(self.next).map_or(self.next, |last| last + 1);
            let first = self.waiting.first_entry().filter(|first| *first.key() <= behind);
            let Some(first) = first else {
                self.next = behind;
                return;
            };
            self.next = self.next.max(*first.key() + 1);
            let next = first.remove();
            self.hand_out(next, ready);
        }
    }

    fn hand_out(&mut self, Waiting { next, is_redelivered }: Waiting<M>, ready: &mut impl FnMut(Ready<M>)) {
        match next {
            Ready::Result(..) => self.count += 1,
            Ready::Over(_) => self.blank_count += 1,
            // A waiting result is never a dropped one.
            Ready::Dropped(_) => {}
        }
        self.redelivered_count += u64::from(is_redelivered);
        ready(next);
    }

    /// Returns the number of tasks without a wanted result, of `task_count` in all; the source reports
    /// `refused_count` refused ones. A refused task that was done anyway, without the source learning it in time, is
    /// not counted.
    pub fn rejected_count(&self, task_count: u64, refused_count: u64) -> u64 {
        let done_count = self.count.saturating_sub(self.unwanted_count) + self.blank_count;
        refused_count.min(task_count.saturating_sub(done_count))
    }

    /// Returns the tasks whose results the application has had, and the number of results. The tasks in `ready` have
    /// not been delivered yet.
    pub fn had(&self, ready: impl Iterator<Item = u64>) -> (Ranges, u64) {
        let mut pending = ready.collect::<Vec<_>>();
        let count = self.count.saturating_sub(pending.len() as u64);
        pending.extend(self.waiting.keys());
        pending.sort_unstable();
        let (mut without, mut had) = (Ranges::new(), Ranges::new());
        for sequence in pending {
            without.insert(sequence..sequence + 1);
        }
        for range in std::iter::once(0..self.floor).chain(self.seen.iter()) {
            for part in without.missing_in(range) {
                had.insert(part);
            }
        }
        (had, count)
    }

    /// Resumes after an application that has had the results of these tasks, `count` results among them.
    pub fn resumed(mut had: Ranges, count: u64) -> Seen<M> {
        let floor = had.take_from(0).map_or(0, |range| range.end);
        Seen { floor, seen: had, count, next: floor, ..Seen::default() }
    }

    /// Returns the number of ranges in the memory.
    pub fn range_count(&self) -> usize {
        self.seen.range_count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This count of deliveries marks tasks without a result.
    const BLANK: u16 = 9;

    fn take(
        seen: &mut Seen<&'static str>,
        sequence: u64,
        count: usize,
        deliveries: u16,
        keep_order: bool,
    ) -> Vec<u64> {
        let mut ready = Vec::new();
        let content = if deliveries == BLANK { Content::Nothing } else { Content::Message };
        let run = TaskRun { id: TaskId { epoch: 1, sequence }, deliveries, content };
        let messages = vec!["x"; count].into_iter();
        seen.take(run, count as u64, messages, keep_order, &mut |next| ready.extend(sequence_of(next)));
        ready
    }

    fn sequence_of(next: Ready<&str>) -> Option<u64> {
        match next {
            Ready::Result(task, _) => Some(task.sequence),
            Ready::Over(_) | Ready::Dropped(_) => None,
        }
    }

    fn raise(seen: &mut Seen<&'static str>, floor: u64) -> Vec<u64> {
        let mut ready = Vec::new();
        seen.raise_floor(floor, &mut |next| ready.extend(sequence_of(next)));
        ready
    }

    #[test]
    fn each_result_is_delivered_once() {
        let mut seen = Seen::default();
        assert_eq!(take(&mut seen, 3, 3, 0, false), [3, 4, 5]);
        assert_eq!(take(&mut seen, 2, 3, 1, false), [2]);
        assert_eq!(raise(&mut seen, 10), []);
        assert_eq!(take(&mut seen, 8, 3, 1, false), [10], "what is below the floor is over");
        assert_eq!((seen.count, seen.duplicate_count, seen.redelivered_count), (5, 4, 2));
        assert_eq!(seen.range_count(), 1);
    }

    #[test]
    fn what_is_settled_already_has_been_seen() {
        let mut seen = Seen::default();
        raise(&mut seen, 3);
        seen.skip_settled(20, [(5, 2), (9, 1)].into_iter(), &mut |_| panic!("nothing waits"));
        assert_eq!(take(&mut seen, 0, 25, 1, false), [5, 6, 9, 20, 21, 22, 23, 24]);
        assert_eq!((seen.count, seen.duplicate_count), (8, 17));
    }

    #[test]
    fn in_order_results_wait_for_earlier_ones_until_there_will_be_none() {
        let mut seen = Seen::default();
        assert_eq!(take(&mut seen, 2, 2, 0, true), []);
        assert_eq!(take(&mut seen, 0, 1, 0, true), [0]);
        assert_eq!(take(&mut seen, 1, 1, 0, true), [1, 2, 3]);
        assert_eq!(take(&mut seen, 6, 1, 0, true), []);
        assert_eq!(raise(&mut seen, 5), [], "5 may still come");
        assert_eq!(raise(&mut seen, 6), [6]);
        assert_eq!(take(&mut seen, 7, 1, 0, true), [7]);
        assert_eq!(take(&mut seen, 9, 1, 0, true), []);
        assert_eq!(raise(&mut seen, 20), [9]);
        assert_eq!(take(&mut seen, 20, 1, 0, true), [20]);
        assert_eq!(take(&mut seen, 23, 1, 0, true), []);
        assert_eq!(take(&mut seen, 21, 2, BLANK, true), [23], "these have no result");
        assert_eq!(seen.count, 9);
    }

    /// Returns the tasks that are delivered or settled when these are passed over: sequence numbers, and whether
    /// there is a result.
    fn pass_over(seen: &mut Seen<&'static str>, first: u64, count: u64) -> Vec<(u64, bool)> {
        let mut ready = Vec::new();
        seen.pass_over(first, count, &mut |next| {
            ready.push((next.task().sequence, matches!(next, Ready::Result(..))));
        });
        ready
    }

    #[test]
    fn results_of_tasks_that_are_passed_over_are_second_ones() {
        let mut seen = Seen::default();
        assert_eq!(take(&mut seen, 1, 1, 0, false), [1]);
        assert_eq!(pass_over(&mut seen, 0, 4), []);
        assert_eq!(take(&mut seen, 0, 6, 1, false), [4, 5]);
        assert_eq!((seen.count, seen.duplicate_count, seen.redelivered_count), (3, 4, 2));
        assert_eq!(seen.rejected_count(6, 4), 3, "1 was done before it was given up");
        assert_eq!(seen.rejected_count(100, 4), 4, "another sink had the others");
        assert_eq!(seen.rejected_count(0, 4), 0);
    }

    #[test]
    fn in_order_nothing_waits_for_what_is_passed_over() {
        let mut seen = Seen::default();
        assert_eq!(take(&mut seen, 1, 2, 0, true), []);
        assert_eq!(take(&mut seen, 5, 1, 1, true), []);
        assert_eq!(pass_over(&mut seen, 2, 3), [(2, false)], "settled at once, it holds others' room");
        assert_eq!(pass_over(&mut seen, 0, 1), [(1, true), (5, true)]);
        assert_eq!(pass_over(&mut seen, 7, 2), []);
        assert_eq!(take(&mut seen, 9, 1, 0, true), []);
        assert_eq!(take(&mut seen, 6, 1, 0, true), [6, 9], "by the short way too");
        assert_eq!(pass_over(&mut seen, 10, 2), []);
        let run = TaskRun { id: TaskId { epoch: 1, sequence: 12 }, deliveries: 0, content: Content::Message };
        pass_over(&mut seen, 13, 2);
        assert!(seen.take_new(run, 1, true));
        assert!(seen.take_new(run.plus(3), 1, true), "it has its turn");
        assert_eq!((seen.count, seen.duplicate_count, seen.redelivered_count), (6, 1, 1));
    }

    #[test]
    fn in_order_what_comes_for_a_task_that_was_passed_over_is_settled_before_its_turn() {
        let mut seen = Seen::default();
        let mut over = Vec::new();
        pass_over(&mut seen, 3, 2);
        let run = TaskRun { id: TaskId { epoch: 1, sequence: 2 }, deliveries: 0, content: Content::Message };
        seen.take(run, 3, ["x"; 3].into_iter(), true, &mut |next| over.push(next));
        assert_eq!(over, [Ready::Dropped(run.plus(1).id), Ready::Dropped(run.plus(2).id)]);
        assert_eq!(take(&mut seen, 0, 2, 0, true), [0, 1, 2]);
        let next = TaskRun { id: TaskId { epoch: 1, sequence: 5 }, ..run };
        assert!(seen.take_new(next, 1, true), "it has its turn");
    }

    #[test]
    fn what_is_passed_over_is_bounded_whatever_is_said() {
        let mut seen = Seen::default();
        take(&mut seen, 8, 1, 0, true);
        assert_eq!(pass_over(&mut seen, u64::MAX, u64::MAX), []);
        assert_eq!(pass_over(&mut seen, 9, u64::MAX), []);
        assert_eq!(take(&mut seen, u64::MAX / 2, 1, 0, true), []);
        assert_eq!(pass_over(&mut seen, 0, u64::MAX), [(8, false)]);
        assert_eq!(take(&mut seen, 3, 2, 0, true), []);
        let mut seen = Seen::default();
        (0..RANGE_COUNT_MAX as u64 + 5).for_each(|at| drop(pass_over(&mut seen, 2 * at, 1)));
        assert_eq!(seen.range_count(), RANGE_COUNT_MAX);
        raise(&mut seen, 9);
        pass_over(&mut seen, u64::MAX - 4, 2);
        assert_eq!(seen.range_count(), RANGE_COUNT_MAX - 4);
    }

    #[test]
    fn what_the_application_has_not_had_is_delivered_by_one_that_goes_on() {
        let mut seen = Seen::default();
        take(&mut seen, 0, 10, 0, false);
        raise(&mut seen, 4);
        take(&mut seen, 12, 3, 0, false);
        let (had, count) = seen.had([2, 8, 9, 13].into_iter());
        assert_eq!(had.iter().collect::<Vec<_>>(), [0..2, 3..8, 12..13, 14..15]);
        assert_eq!(count, 9);
        let mut resumed = Seen::<&str>::resumed(had.clone(), count);
        assert_eq!(resumed.had([].into_iter()), (had, count));
        assert_eq!(take(&mut resumed, 0, 16, 1, false), [2, 8, 9, 10, 11, 13, 15]);
        assert_eq!((resumed.count, resumed.duplicate_count), (16, 9));
    }

    #[test]
    fn in_order_what_waits_has_not_been_had() {
        let mut seen = Seen::default();
        assert_eq!(take(&mut seen, 0, 2, 0, true), [0, 1]);
        assert_eq!(take(&mut seen, 3, 2, 0, true), []);
        assert_eq!(take(&mut seen, 5, 1, BLANK, true), []);
        let (had, count) = seen.had([1].into_iter());
        assert_eq!((had.iter().flatten().collect::<Vec<_>>(), count), (vec![0], 1));
        let mut resumed = Seen::<&str>::resumed(had, count);
        assert_eq!(take(&mut resumed, 2, 1, 1, true), []);
        assert_eq!(take(&mut resumed, 1, 1, 1, true), [1, 2]);
    }
}
