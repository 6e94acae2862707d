//! `Redelivery`: what a sender has got back: what is to be sent again, how often that may be, and what is sent no more.
//!
//! Invariants: `waiting` ascends by task; none in it was sent as often as is allowed.

use std::collections::VecDeque;

use super::task::{Outcome, TaskId, TaskRun};

/// A task that was delivered so often travels alone.
const ALONE_DELIVERIES: u16 = 2;

/// A message that was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returned<M> {
    /// Which task it is, as it was sent.
    pub task: TaskRun,
    /// The message.
    pub message: M,
    /// What became of it.
    pub outcome: Outcome,
    /// Why it was rejected, in the receiver's words.
    pub reason: Vec<u8>,
}

/// A message that its sender has got back and sends no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal<M> {
    /// The message.
    pub message: M,
    /// What names it.
    pub task: TaskId,
    /// How often it was sent.
    pub deliveries: u16,
    /// Why it comes back.
    pub cause: RefusalCause,
}

/// Why a message comes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusalCause {
    /// A receiver rejected it, with this reason, up to 255 bytes.
    Rejected(Vec<u8>),
    /// It was sent as often as its sender allows.
    DeliveriesMax,
}

/// What a sender has got back.
#[derive(Clone, Debug)]
pub struct Redelivery<M> {
    /// How often a message may be sent; 0: as often as need be.
    deliveries_max: u16,
    /// Refusals that are kept, at least one; of more the oldest are lost.
    refused_count_max: usize,
    waiting: VecDeque<(TaskRun, M)>,
    refusals: VecDeque<Refusal<M>>,
    refused_count: u64,
    lost_refusals: u64,
}

impl<M> Redelivery<M> {
    /// Nothing yet. A message may be sent `deliveries_max` times, 0 being as often as need be; `refused_count_max`
    /// refusals are kept until they are taken.
    pub fn new(deliveries_max: u16, refused_count_max: usize) -> Redelivery<M> {
        Redelivery {
            deliveries_max,
            refused_count_max: refused_count_max.max(1),
            waiting: VecDeque::new(),
            refusals: VecDeque::new(),
            refused_count: 0,
            lost_refusals: 0,
        }
    }

    /// How many wait to be sent again.
    pub fn waiting_count(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// The next to be sent again.
    pub fn first_waiting(&self) -> Option<TaskRun> {
        self.waiting.front().map(|(task, _)| *task)
    }

    /// Whether the task is to be the only one that its receiver has: two connections have ended with it, so that it may
    /// be what ends them.
    pub fn travels_alone(task: TaskRun) -> bool {
        task.deliveries >= ALONE_DELIVERIES
    }

    /// Takes the next to be sent again.
    pub fn take_waiting(&mut self) -> Option<(TaskRun, M)> {
        self.waiting.pop_front()
    }

    /// These tasks, `count` in sequence from `first` on, are done: they are not sent again.
    pub fn forget_tasks(&mut self, first: TaskId, count: u64) {
        if !self.waiting.is_empty() {
            let end = first.plus(count);
            self.waiting.retain(|(task, _)| task.id < first || task.id >= end);
        }
    }

    /// Nothing will be sent again. Returns how many waited.
    pub fn give_up_waiting(&mut self) -> usize {
        std::mem::take(&mut self.waiting).len()
    }

    /// What a link had not settled when it ended, ascending, each with the count of its deliveries.
    pub fn send_again(&mut self, unsettled: impl IntoIterator<Item = (TaskRun, M)>) {
        for (task, message) in unsettled {
            self.add(task, message);
        }
    }

    /// What a receiver did not accept.
    pub fn take_back(&mut self, returned: impl IntoIterator<Item = Returned<M>>) {
        for Returned { mut task, message, outcome, reason } in returned {
            task.deliveries = task.deliveries.saturating_add(1);
            match outcome {
                Outcome::Rejected => self.refuse(task, message, RefusalCause::Rejected(reason)),
                Outcome::Accepted | Outcome::Released => self.add(task, message),
            }
        }
    }

    /// What a receiver did not accept of tasks that were received from elsewhere and passed on. Returns those that are to
    /// be rejected there: they are not sent again.
    pub fn take_back_passed_on(&mut self, returned: Vec<Returned<M>>) -> Vec<Returned<M>> {
        let is_rejected = |returned: &Returned<M>| returned.outcome == Outcome::Rejected;
        let (rejected, again): (Vec<_>, Vec<_>) = returned.into_iter().partition(is_rejected);
        self.take_back(again);
        rejected
    }

    fn add(&mut self, task: TaskRun, message: M) {
        if self.deliveries_max > 0 && task.deliveries >= self.deliveries_max {
            return self.refuse(task, message, RefusalCause::DeliveriesMax);
        }
        let at = self.waiting.partition_point(|(other, _)| other.id < task.id);
        self.waiting.insert(at, (task, message));
    }

    fn refuse(&mut self, task: TaskRun, message: M, cause: RefusalCause) {
        self.refused_count += 1;
        if self.refusals.len() >= self.refused_count_max {
            self.refusals.pop_front();
            self.lost_refusals += 1;
        }
        self.refusals.push_back(Refusal { message, task: task.id, deliveries: task.deliveries, cause });
    }

    /// Messages refused so far.
    pub fn refused_count(&self) -> u64 {
        self.refused_count
    }

    /// Refusals that were lost because nobody took them.
    pub fn lost_refusals(&self) -> u64 {
        self.lost_refusals
    }

    /// The refusals since the last call.
    pub fn take_refusals(&mut self) -> Vec<Refusal<M>> {
        self.refusals.drain(..).collect()
    }
}
