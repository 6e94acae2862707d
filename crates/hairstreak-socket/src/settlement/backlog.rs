//! `Backlog`: what a settled PUSH keeps beside its links: the next task, what is to be sent again, what was refused.
//!
//! Tasks are counted where they are sent: while a link has a grant, the next task is the one behind its last.

use std::collections::VecDeque;

use hairstreak_base::Message;
use hairstreak_wire::settlement::{Outcome, TaskId, TaskRun};

use super::{Refusal, RefusalCause, Settlement};
use crate::session::Returned;

/// What a settled PUSH keeps.
#[derive(Debug)]
pub(crate) struct Backlog {
    pub settings: Settlement,
    /// The next new task, unless a link has a grant.
    pub next: TaskRun,
    /// The PULL, of the same engine, whose tasks are passed on here: what becomes of them here becomes of them there.
    pub upstream: Option<usize>,
    pub granted: Option<GrantedLink>,
    /// The task behind the last one that was passed on, if nothing was sent since.
    pub expected: Option<TaskRun>,
    /// Nothing new will be sent: receivers are told.
    pub has_ended: bool,
    /// To be sent again, lowest task first.
    waiting: VecDeque<(TaskRun, Message)>,
    refusals: VecDeque<Refusal>,
    pub refused_count: u64,
    /// Refusals that were lost because nobody took them.
    pub lost_refusals: u64,
}

/// The link that is given new messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GrantedLink {
    pub index: usize,
    pub serial: u32,
}

impl Backlog {
    pub fn new(settings: Settlement) -> Backlog {
        Backlog {
            settings,
            next: TaskRun {
                id: TaskId { epoch: fastrand::u64(..), sequence: 0 },
                deliveries: 0,
                is_blank: false,
            },
            upstream: None,
            granted: None,
            expected: None,
            has_ended: false,
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

    pub fn take_waiting(&mut self) -> Option<(TaskRun, Message)> {
        self.waiting.pop_front()
    }

    /// The socket is closed: nothing will be sent again. Returns how many waited.
    pub fn give_up_waiting(&mut self) -> usize {
        std::mem::take(&mut self.waiting).len()
    }

    /// What a link had not settled when it ended, ascending.
    pub fn send_again(&mut self, unsettled: Vec<(TaskRun, Message)>) {
        for (task, message) in unsettled {
            self.add(task, message);
        }
    }

    /// What a receiver did not accept.
    pub fn take_back(&mut self, returned: Vec<Returned>) {
        for Returned { mut task, message, outcome, reason } in returned {
            task.deliveries = task.deliveries.saturating_add(1);
            match outcome {
                Outcome::Rejected => self.refuse(task, message, RefusalCause::Rejected(reason)),
                Outcome::Accepted | Outcome::Released => self.add(task, message),
            }
        }
    }

    fn add(&mut self, task: TaskRun, message: Message) {
        let deliveries_max = self.settings.deliveries_max;
        if deliveries_max > 0 && task.deliveries >= deliveries_max {
            return self.refuse(task, message, RefusalCause::DeliveriesMax);
        }
        let at = self.waiting.partition_point(|(other, _)| other.id < task.id);
        self.waiting.insert(at, (task, message));
    }

    fn refuse(&mut self, task: TaskRun, message: Message, cause: RefusalCause) {
        self.refused_count += 1;
        if self.refusals.len() >= self.settings.refused_count_max.max(1) {
            self.refusals.pop_front();
            self.lost_refusals += 1;
        }
        self.refusals.push_back(Refusal { message, task: task.id, deliveries: task.deliveries, cause });
    }

    pub fn take_refusals(&mut self) -> Vec<Refusal> {
        self.refusals.drain(..).collect()
    }
}
