//! `Settler`: settles or rejects the results that a sink's application has dealt with, and tells the ventilator.

use std::collections::{BTreeMap, BTreeSet};

use hairstreak_socket::Pull;
use hairstreak_socket::settlement::{Batch, ControlMessage, SequenceRuns, TaskId};

use super::reports::Reports;

/// Largest number of rejected tasks that are remembered until the ventilator has confirmed their refusal. It equals the
/// largest window that grows by itself. Above it, copies of the first rejected task count as done.
const REJECTED_COUNT_MAX: usize = 100_000;

/// Settles the results of a sink.
pub(super) struct Settler {
    results: Pull,
    reports: Reports,
    /// Tasks whose results the application has rejected, with the reasons. Copies that come before the ventilator has
    /// confirmed the refusal are rejected too: an accepted copy would mark the task as done.
    rejected: BTreeMap<TaskId, String>,
    /// Tasks of the next settlement with a result that was not delivered. The ventilator is not told that they are
    /// done: they may have been refused, and their names wait to be taken.
    dropped: BTreeSet<TaskId>,
}

impl Settler {
    /// Returns a settler of the results that `results` receives.
    pub fn new(results: Pull, reports: Reports) -> Settler {
        Settler { results, reports, rejected: BTreeMap::new(), dropped: BTreeSet::new() }
    }

    /// Notes that the application is not given the results of this task, which is settled next.
    pub fn note_dropped(&mut self, task: TaskId) {
        self.dropped.insert(task);
    }

    /// Settles a batch after the application has dealt with all of it.
    pub fn settle_batch(&mut self, batch: &Batch) {
        if self.rejected.is_empty() && self.results.accept_batch(batch) {
            batch.runs.iter().for_each(|(run, count)| self.report(run.id, *count));
        } else {
            // A task of the batch was rejected, or its worker is gone.
            batch.runs.iter().for_each(|(run, count)| self.settle_run(run.id, *count));
        }
        self.dropped.clear();
    }

    /// Settles `count` tasks in sequence from `first` on, after the application has dealt with them.
    pub fn settle(&mut self, first: TaskId, count: u64) {
        self.settle_run(first, count);
        self.dropped.clear();
    }

    fn settle_run(&mut self, first: TaskId, count: u64) {
        let rejected = self.rejected.range(first..first.plus(count));
        let rejected = rejected.map(|(task, reason)| (*task, reason.clone())).collect::<Vec<_>>();
        let mut next = first;
        for (task, reason) in rejected {
            self.accept(next, task.sequence - next.sequence);
            self.results.reject_tasks(task, 1, &reason);
            next = task.plus(1);
        }
        self.accept(next, first.sequence + count - next.sequence);
    }

    fn accept(&mut self, first: TaskId, count: u64) {
        if count > 0 {
            self.results.accept_tasks(first, count);
            self.report(first, count);
        }
    }

    /// Reports the delivered tasks of these.
    fn report(&mut self, first: TaskId, count: u64) {
        let end = first.plus(count);
        let mut next = first;
        for task in self.dropped.range(first..end) {
            self.reports.note(next, task.sequence - next.sequence, &self.results);
            next = task.plus(1);
        }
        self.reports.note(next, end.sequence - next.sequence, &self.results);
    }

    /// Rejects the result of a task, with which the application cannot deal. Returns false if it was rejected before.
    pub fn reject(&mut self, task: TaskId, reason: &str) -> bool {
        if self.rejected.contains_key(&task) {
            return false;
        }
        self.results.reject_tasks(task, 1, reason);
        if self.rejected.len() >= REJECTED_COUNT_MAX {
            self.rejected.pop_first();
        }
        self.rejected.insert(task, reason.to_owned());
        true
    }

    /// Returns the rejected tasks whose refusal the ventilator has not confirmed.
    pub fn rejected(&self) -> impl Iterator<Item = TaskId> + Clone + '_ {
        self.rejected.keys().copied()
    }

    /// Takes a message of the ventilator about its tasks. Copies of a settled task need not be rejected.
    pub fn hear(&mut self, said: ControlMessage<'_>) {
        match said {
            ControlMessage::Tasks(place) => self.reports.go_to(place),
            ControlMessage::Refused(epoch, refused) => self.forget(epoch, refused),
            ControlMessage::Floor(floor) => {
                self.rejected.retain(|task, _| task.epoch == floor.epoch && *task >= floor);
            }
            ControlMessage::End { .. } => self.rejected.clear(),
            _ => {}
        }
    }

    fn forget(&mut self, epoch: u64, refused: SequenceRuns<'_>) {
        for (first, count) in refused {
            let first = TaskId { epoch, sequence: first };
            let behind = TaskId { epoch, sequence: first.sequence.saturating_add(count) };
            let known = self.rejected.range(first..behind).map(|(task, _)| *task).collect::<Vec<_>>();
            known.iter().for_each(|task| drop(self.rejected.remove(task)));
        }
    }

    /// Reports settled tasks, if there are any.
    pub fn tell(&mut self) {
        self.reports.tell(&self.results);
    }
}
