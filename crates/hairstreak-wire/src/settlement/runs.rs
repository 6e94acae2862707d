//! `Runs`: the tasks of the messages of a link, as runs in sequence.
//!
//! Invariant: the first numbers ascend; each run extends to the first number of the next one.

use std::collections::VecDeque;
use std::ops::Range;

use super::task::{TaskId, TaskRun};

/// Runs of tasks by the number of their first message.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    runs: VecDeque<(u64, TaskRun)>,
    /// Number of runs at the end whose tasks ascend without overlap. Among them a task is found by binary search.
    ascending: usize,
}

impl Runs {
    /// Starts `run` at message `number`. If the run would continue there anyway, changes nothing and returns false.
    pub fn begin(&mut self, number: u64, run: TaskRun) -> bool {
        if self.task_of(number) == Some(run) {
            return false;
        }
        if self.runs.back().is_some_and(|(first, _)| *first == number) {
            // The run before had no message.
            self.runs.pop_back();
            self.ascending = self.ascending.saturating_sub(1);
        }
        let is_behind = self.runs.back().is_none_or(|(first, before)| {
            before.plus(number - first).id <= run.id && before.id.epoch == run.id.epoch
        });
        self.ascending = if is_behind { self.ascending + 1 } else { 1 };
        self.runs.push_back((number, run));
        true
    }

    /// Returns the task of message `number`, unless it was forgotten or came before any run.
    pub fn task_of(&self, number: u64) -> Option<TaskRun> {
        let at = self.runs.partition_point(|(first, _)| *first <= number).checked_sub(1)?;
        let (first, run) = self.runs[at];
        Some(run.plus(number - first))
    }

    /// Forgets the messages below `number`.
    pub fn forget_below(&mut self, number: u64) {
        while self.runs.get(1).is_some_and(|(first, _)| *first <= number) {
            self.runs.pop_front();
        }
        self.ascending = self.ascending.min(self.runs.len());
    }

    /// Returns the messages of `range`, split at the ends of runs, with the task of the first message of each part.
    pub fn split(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, TaskRun)> + '_ {
        let mut at = range.start;
        std::iter::from_fn(move || {
            let run = self.task_of(at).filter(|_| at < range.end)?;
            let next = self.runs.get(self.runs.partition_point(|(first, _)| *first <= at));
            let part = at..next.map_or(range.end, |(first, _)| range.end.min(*first));
            at = part.end;
            Some((part, run))
        })
    }

    /// Returns the messages below `end` with these tasks, `count` in sequence from `first` on.
    pub fn numbers_of(&self, first: TaskId, count: u64, end: u64) -> impl Iterator<Item = Range<u64>> + '_ {
        let last = first.sequence.saturating_add(count);
        let is_ascending = self.ascending == self.runs.len();
        let from = if is_ascending {
            self.runs.partition_point(|(_, run)| run.id <= first).saturating_sub(1)
        } else {
            0
        };
        let reaches = move |run: &TaskRun| !is_ascending || run.id.sequence < last;
        let runs = self.runs.range(from..).enumerate().take_while(move |(_, (_, run))| reaches(run));
        runs.filter_map(move |(offset, (number, run))| {
            let next = self.runs.get(from + offset + 1).map_or(end, |(next, _)| (*next).min(end));
            let begin = run.id.sequence.max(first.sequence);
            let until = run.id.sequence.saturating_add(next.saturating_sub(*number)).min(last);
            let is_met = run.id.epoch == first.epoch && begin < until;
            is_met.then(|| number + (begin - run.id.sequence)..number + (until - run.id.sequence))
        })
    }

    /// Returns whether no run has begun.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the number of runs.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.runs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::task::Content;
    use super::*;

    fn run(sequence: u64, deliveries: u16) -> TaskRun {
        TaskRun { id: TaskId { epoch: 1, sequence }, deliveries, content: Content::Message }
    }

    #[test]
    fn a_run_goes_on_until_another_begins() {
        let mut runs = Runs::default();
        assert_eq!(runs.task_of(1), None);
        assert!(runs.begin(1, run(100, 0)));
        assert!(!runs.begin(4, run(103, 0)), "that is what message 4 is anyway");
        assert!(runs.begin(4, run(103, 1)), "delivered before");
        assert!(runs.begin(6, run(50, 0)));
        assert!(runs.begin(6, run(60, 0)), "message 6 did not come in between");
        let all = (1..9).map(|number| runs.task_of(number).unwrap().id.sequence).collect::<Vec<_>>();
        assert_eq!(all, [100, 101, 102, 103, 104, 60, 61, 62]);
        let parts = runs.split(2..8).collect::<Vec<_>>();
        assert_eq!(parts, [(2..4, run(101, 0)), (4..6, run(103, 1)), (6..8, run(60, 0))]);
        let numbers = |sequence, count, end| {
            runs.numbers_of(TaskId { epoch: 1, sequence }, count, end).collect::<Vec<_>>()
        };
        assert_eq!(numbers(101, 3, 9), [2..4, 4..5]);
        assert_eq!(numbers(61, 3, 8), vec![Range { start: 7, end: 8 }], "message 8 has not come");
        assert_eq!(numbers(200, 5, 9), []);
        runs.forget_below(6);
        assert_eq!((runs.count(), runs.task_of(5), runs.task_of(8)), (1, None, Some(run(62, 0))));
    }
}
