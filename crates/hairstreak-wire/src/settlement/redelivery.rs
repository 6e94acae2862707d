//! `Redelivery`: the returned messages of a sender. It decides which are sent again, how often, and which are given
//! up.
//!
//! Invariants: `waiting` ascends by task; no message in it has reached the limit of deliveries.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::refusals::{Refusal, RefusalCause, Refusals};
use super::task::{Outcome, TaskId, TaskRun};

/// Number of runs of refused tasks kept for reporting. Beyond it, only the fact that there are too many is kept.
const UNTOLD_COUNT_MAX: usize = 1024;

/// A message that was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returned<M> {
    /// Task of the message, as it was sent.
    pub task: TaskRun,
    /// The message.
    pub message: M,
    /// Outcome of the message.
    pub outcome: Outcome,
    /// Reason for a rejection, in the receiver's words.
    pub reason: Vec<u8>,
}

/// Rules for returned messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedeliveryRules {
    /// Largest number of deliveries of a message; 0: no limit.
    pub deliveries_max: u16,
    /// Number of refusals that are kept, at least one. Beyond it, the oldest are lost.
    pub refused_count_max: usize,
    /// Time that sends wait when this many refusals are kept, for an application that has taken refusals before.
    /// `None`: sends do not wait, and refusals are lost.
    pub refusals_patience: Option<Duration>,
    /// Messages are settled in the order of their tasks.
    pub in_order: bool,
    /// A message with this many deliveries travels alone; 0: no message does.
    pub alone_deliveries: u16,
}

/// The links on which a message may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkChoice {
    /// Any link without a message that travels alone.
    Open,
    /// A link without unsettled messages. It gets no other message until this one is settled.
    Idle,
    /// Any link: no message is settled before this one.
    Any,
}

/// Tasks refused since the last query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusedTasks {
    /// The first task of each run, and the number of tasks in it.
    Runs(Vec<(TaskId, u64)>),
    /// Too many tasks to keep. The receiver derives them from the unsettled tasks.
    TooMany,
}

/// The returned messages of a sender.
#[derive(Clone, Debug)]
pub struct Redelivery<M> {
    rules: RedeliveryRules,
    /// Receivers only collect results of other workers.
    is_collected: bool,
    waiting: VecDeque<(TaskRun, M)>,
    refusals: Refusals<M>,
    refused_count: u64,
    untold: RefusedTasks,
}

impl<M> Redelivery<M> {
    /// Creates an empty collection.
    pub fn new(rules: RedeliveryRules) -> Redelivery<M> {
        Redelivery {
            rules,
            is_collected: false,
            waiting: VecDeque::new(),
            refusals: Refusals::new(rules.refused_count_max, rules.refusals_patience),
            refused_count: 0,
            untold: RefusedTasks::Runs(Vec::new()),
        }
    }

    /// Returns the number of messages that wait to be sent again.
    pub fn waiting_count(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Returns the tasks that wait to be sent again, lowest first.
    pub fn waiting(&self) -> impl Iterator<Item = TaskRun> + '_ {
        self.waiting.iter().map(|(task, _)| *task)
    }

    /// Returns the next task to be sent again.
    pub fn first_waiting(&self) -> Option<TaskRun> {
        self.waiting.front().map(|(task, _)| *task)
    }

    /// Declares that the receivers only collect results. No message travels alone then: the task ended connections,
    /// and this message is its result.
    pub fn feed_collector(&mut self) {
        self.is_collected = true;
    }

    /// Keeps all refusals, because the caller takes them immediately.
    pub fn hand_on_refusals(&mut self) {
        self.refusals.keep_all();
    }

    /// Returns whether the task has to be the only one of its receiver. Connections have ended with this task, so it
    /// may be the cause.
    pub fn travels_alone(&self, task: TaskRun) -> bool {
        let alone = self.rules.alone_deliveries;
        !self.is_collected && alone > 0 && task.deliveries >= alone
    }

    /// Returns the links on which the next task may be sent again; `first_unsettled` returns the lowest unsettled
    /// task. In order, the first task does not wait for a receiver to settle others, because they wait for it.
    pub fn link_choice(&self, task: TaskRun, first_unsettled: impl FnOnce() -> Option<TaskId>) -> LinkChoice {
        if self.rules.in_order && first_unsettled().is_none_or(|first| first >= task.id) {
            LinkChoice::Any
        } else if self.travels_alone(task) {
            LinkChoice::Idle
        } else {
            LinkChoice::Open
        }
    }

    /// Returns whether messages are settled in the order of their tasks.
    pub fn is_in_order(&self) -> bool {
        self.rules.in_order
    }

    /// Returns whether this task waits to be sent again.
    pub fn has_waiting(&self, task: TaskId) -> bool {
        self.waiting.binary_search_by_key(&task, |(other, _)| other.id).is_ok()
    }

    /// Takes the next message to be sent again.
    pub fn take_waiting(&mut self) -> Option<(TaskRun, M)> {
        self.waiting.pop_front()
    }

    /// Marks these tasks as done, `count` in sequence from `first` on. They are not sent again, and their untaken
    /// refusals no longer count as refused.
    pub fn forget_tasks(&mut self, first: TaskId, count: u64) {
        self.refused_count -= self.refusals.strike(first, count);
        if !self.waiting.is_empty() {
            let done = first.sequence..first.sequence.saturating_add(count);
            let is_done = |task: TaskId| task.epoch == first.epoch && done.contains(&task.sequence);
            self.waiting.retain(|(task, _)| !is_done(task.id));
        }
    }

    /// Drops all messages that wait to be sent again. Returns their number.
    pub fn give_up_waiting(&mut self) -> usize {
        std::mem::take(&mut self.waiting).len()
    }

    /// Refuses these overdue messages, and the waiting ones that are `overdue`. None of them is sent again.
    pub fn expire(
        &mut self,
        unsettled: impl IntoIterator<Item = (TaskRun, M)>,
        overdue: impl Fn(TaskId) -> bool,
    ) {
        for (task, message) in unsettled {
            self.refuse(task, message, RefusalCause::Deadline);
        }
        if self.waiting.iter().any(|(task, _)| overdue(task.id)) {
            let (late, waiting) = std::mem::take(&mut self.waiting)
                .into_iter()
                .partition::<VecDeque<_>, _>(|(task, _)| overdue(task.id));
            self.waiting = waiting;
            late.into_iter().for_each(|(task, message)| self.refuse(task, message, RefusalCause::Deadline));
        }
    }

    /// Adds the unsettled messages of an ended link, each with its count of deliveries.
    pub fn send_again(&mut self, unsettled: impl IntoIterator<Item = (TaskRun, M)>) {
        for (task, message) in unsettled {
            self.add(task, message);
        }
    }

    /// Adds messages that a receiver did not accept.
    pub fn take_back(&mut self, returned: impl IntoIterator<Item = Returned<M>>) {
        for Returned { mut task, message, outcome, reason } in returned {
            task.deliveries = task.deliveries.saturating_add(1);
            match outcome {
                Outcome::Rejected => self.refuse(task, message, RefusalCause::Rejected(reason)),
                Outcome::Accepted | Outcome::Released => self.add(task, message),
            }
        }
    }

    /// Adds messages that a receiver did not accept and that were passed on from elsewhere. Returns the messages to
    /// be rejected there: they are not sent again.
    pub fn take_back_passed_on(&mut self, returned: Vec<Returned<M>>) -> Vec<Returned<M>> {
        let is_rejected = |returned: &Returned<M>| returned.outcome == Outcome::Rejected;
        let (rejected, again): (Vec<_>, Vec<_>) = returned.into_iter().partition(is_rejected);
        self.take_back(again);
        rejected
    }

    fn add(&mut self, task: TaskRun, message: M) {
        if self.rules.deliveries_max > 0 && task.deliveries >= self.rules.deliveries_max {
            return self.refuse(task, message, RefusalCause::DeliveriesMax);
        }
        let at = self.waiting.partition_point(|(other, _)| other.id < task.id);
        self.waiting.insert(at, (task, message));
    }

    fn refuse(&mut self, task: TaskRun, message: M, cause: RefusalCause) {
        self.refused_count += 1;
        self.note_untold(task.id);
        self.refusals.push(Refusal { message, task: task.id, deliveries: task.deliveries, cause });
    }

    fn note_untold(&mut self, task: TaskId) {
        let RefusedTasks::Runs(runs) = &mut self.untold else { return };
        let is_full = runs.len() >= UNTOLD_COUNT_MAX;
        match runs.last_mut() {
            Some((first, count)) if first.plus(*count) == task => *count += 1,
            _ if is_full => self.untold = RefusedTasks::TooMany,
            _ => runs.push((task, 1)),
        }
    }

    /// Returns whether tasks were refused since the last call of [`Redelivery::take_refused`].
    pub fn has_refused(&self) -> bool {
        !matches!(&self.untold, RefusedTasks::Runs(runs) if runs.is_empty())
    }

    /// Returns the tasks refused since the last call, for peers that wait for their results.
    pub fn take_refused(&mut self) -> RefusedTasks {
        std::mem::replace(&mut self.untold, RefusedTasks::Runs(Vec::new()))
    }

    /// Returns the number of messages refused so far, without those found done before they were taken.
    pub fn refused_count(&self) -> u64 {
        self.refused_count
    }

    /// Returns the number of refusals that were lost because the application did not take them.
    pub fn lost_refusals(&self) -> u64 {
        self.refusals.lost_count
    }

    /// Returns the refusals since the last call.
    pub fn take_refusals(&mut self) -> Vec<Refusal<M>> {
        self.refusals.take()
    }

    /// Records that the application takes refusals: from now on no refusal is lost, because sends wait for the
    /// application.
    pub fn expect_taker(&mut self, now: impl FnOnce() -> Instant) {
        self.refusals.expect_taker(now);
    }

    /// Returns the time until which new sends wait, unless refusals are taken before. `None` if sends do not have to
    /// wait.
    pub fn held_until(&mut self, now: impl FnOnce() -> Instant) -> Option<Instant> {
        self.refusals.held_until(now)
    }
}

#[cfg(test)]
mod tests {
    use super::super::task::Content;
    use super::*;

    const RULES: RedeliveryRules = RedeliveryRules {
        deliveries_max: 3,
        refused_count_max: 2,
        refusals_patience: None,
        in_order: false,
        alone_deliveries: 2,
    };

    fn task(sequence: u64, deliveries: u16) -> TaskRun {
        TaskRun { id: TaskId { epoch: 1, sequence }, deliveries, content: Content::Message }
    }

    fn returned(sequence: u64, outcome: Outcome) -> Returned<&'static str> {
        Returned { task: task(sequence, 0), message: "x", outcome, reason: b"why".to_vec() }
    }

    #[test]
    fn what_comes_back_is_sent_again_in_the_order_of_tasks_as_often_as_is_allowed() {
        let mut redelivery = Redelivery::new(RULES);
        redelivery.send_again([(task(5, 1), "x"), (task(7, 3), "x")]);
        redelivery.take_back([returned(3, Outcome::Released), returned(4, Outcome::Rejected)]);
        assert!(redelivery.has_waiting(task(3, 0).id) && !redelivery.has_waiting(task(4, 0).id));
        let waiting: Vec<_> = std::iter::from_fn(|| redelivery.take_waiting()).collect();
        assert_eq!(waiting, [(task(3, 1), "x"), (task(5, 1), "x")]);
        let causes: Vec<_> = redelivery.take_refusals().into_iter().map(|refusal| refusal.cause).collect();
        assert_eq!(causes, [RefusalCause::DeliveriesMax, RefusalCause::Rejected(b"why".to_vec())]);
    }

    #[test]
    fn what_was_refused_is_told_once_in_runs_or_that_it_was_too_much() {
        let mut redelivery = Redelivery::new(RULES);
        assert!(!redelivery.has_refused());
        redelivery.send_again([(task(4, 3), "x")]);
        redelivery.take_back([5, 6, 9].map(|sequence| returned(sequence, Outcome::Rejected)));
        assert!(redelivery.has_refused());
        let runs = vec![(task(4, 0).id, 3), (task(9, 0).id, 1)];
        assert_eq!(redelivery.take_refused(), RefusedTasks::Runs(runs));
        assert!(!redelivery.has_refused());
        let mut refuse = |count: usize| {
            let all = (0..count as u64).map(|sequence| returned(sequence * 2, Outcome::Rejected));
            redelivery.take_back(all);
            redelivery.take_refused()
        };
        assert!(
            matches!(refuse(UNTOLD_COUNT_MAX), RefusedTasks::Runs(runs) if runs.len() == UNTOLD_COUNT_MAX)
        );
        assert_eq!(refuse(UNTOLD_COUNT_MAX + 1), RefusedTasks::TooMany);
        assert_eq!(refuse(1), RefusedTasks::Runs(vec![(task(0, 0).id, 1)]));
    }

    #[test]
    fn tasks_that_are_done_are_not_sent_again_however_many_they_are() {
        let mut redelivery = Redelivery::new(RULES);
        let other = TaskRun { id: TaskId { epoch: 2, sequence: 5 }, ..task(0, 0) };
        redelivery.send_again([(task(3, 1), "x"), (task(5, 1), "x"), (task(8, 1), "x"), (other, "x")]);
        redelivery.forget_tasks(task(5, 0).id, 2);
        assert_eq!(redelivery.waiting().map(|task| task.id.sequence).collect::<Vec<_>>(), [3, 8, 5]);
        redelivery.forget_tasks(task(4, 0).id, u64::MAX);
        assert_eq!(redelivery.waiting().collect::<Vec<_>>(), [task(3, 1), other]);
    }

    #[test]
    fn what_was_refused_and_is_done_is_refused_no_more_unless_it_was_taken() {
        let mut redelivery = Redelivery::new(RULES);
        redelivery.take_back([5, 6].map(|sequence| returned(sequence, Outcome::Rejected)));
        redelivery.forget_tasks(task(6, 0).id, 9);
        assert_eq!(redelivery.refused_count(), 1);
        assert_eq!(redelivery.take_refusals()[0].task, task(5, 0).id);
        redelivery.forget_tasks(task(5, 0).id, 1);
        assert_eq!(redelivery.refused_count(), 1);
    }

    #[test]
    fn of_too_many_refusals_the_oldest_are_lost_and_counted() {
        let mut redelivery = Redelivery::new(RULES);
        redelivery.take_back((0..3).map(|sequence| returned(sequence, Outcome::Rejected)));
        assert_eq!((redelivery.refused_count(), redelivery.lost_refusals()), (3, 1));
        assert_eq!(redelivery.take_refusals().len(), 2);
        redelivery.hand_on_refusals();
        redelivery.take_back((3..9).map(|sequence| returned(sequence, Outcome::Rejected)));
        assert_eq!((redelivery.take_refusals().len(), redelivery.lost_refusals()), (6, 1));
    }

    #[test]
    fn what_has_had_its_time_waits_no_longer() {
        let mut redelivery = Redelivery::new(RULES);
        redelivery.send_again([(task(5, 1), "x"), (task(6, 1), "y")]);
        redelivery.expire([(task(2, 1), "z")], |task| task.sequence < 6);
        assert_eq!((redelivery.first_waiting(), redelivery.waiting_count()), (Some(task(6, 1)), 1));
        let late: Vec<_> = redelivery.take_refusals();
        assert!(
            late.iter().all(|refusal| refusal.cause == RefusalCause::Deadline && refusal.deliveries == 1)
        );
        assert_eq!(late.iter().map(|refusal| refusal.message).collect::<Vec<_>>(), ["z", "x"]);
        assert_eq!(redelivery.refused_count(), 2);
    }

    #[test]
    fn what_was_passed_on_and_is_rejected_is_rejected_where_it_came_from() {
        let mut redelivery = Redelivery::new(RULES);
        let both = vec![returned(1, Outcome::Rejected), returned(2, Outcome::Released)];
        assert_eq!(redelivery.take_back_passed_on(both), [returned(1, Outcome::Rejected)]);
        assert_eq!((redelivery.first_waiting(), redelivery.refused_count()), (Some(task(2, 1)), 0));
    }

    #[test]
    fn a_suspect_travels_alone_but_the_first_in_order_does_not_wait_for_that() {
        let mut redelivery = Redelivery::<&str>::new(RULES);
        let first = |sequence| move || Some(task(sequence, 0).id);
        assert_eq!(redelivery.link_choice(task(5, 1), first(5)), LinkChoice::Open);
        assert_eq!(redelivery.link_choice(task(5, 2), first(5)), LinkChoice::Idle);
        let together = Redelivery::<&str>::new(RedeliveryRules { alone_deliveries: 0, ..RULES });
        assert_eq!(together.link_choice(task(5, 9), first(5)), LinkChoice::Open);
        let mut in_order = Redelivery::<&str>::new(RedeliveryRules { in_order: true, ..RULES });
        assert_eq!(in_order.link_choice(task(5, 2), first(4)), LinkChoice::Idle);
        assert_eq!(in_order.link_choice(task(5, 2), first(5)), LinkChoice::Any);
        assert_eq!(in_order.link_choice(task(5, 0), first(5)), LinkChoice::Any, "beside a suspect too");
        redelivery.feed_collector();
        in_order.feed_collector();
        assert_eq!(redelivery.link_choice(task(5, 9), first(5)), LinkChoice::Open, "results kill nobody");
        assert_eq!(in_order.link_choice(task(5, 9), first(4)), LinkChoice::Open);
    }
}
