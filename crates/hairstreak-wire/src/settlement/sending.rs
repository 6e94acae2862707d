//! `SendingLink`: the end of a settled link that sends messages and tracks the unsettled ones.
//!
//! ```text
//!   [Open] --X-DRAIN--> [Draining] --end()--> [Ended]
//!      \__________________end()__________________/
//! ```
//!
//! Messages are sent while the link is open, and settled at any time.
//!
//! A task may be done although the receiver has not settled it: its result took another path and was settled there.
//! Such a task does not have to be sent again. Neither does an overdue task.
//!
//! Invariants: a number is settled once, as far as is known: up to `through`, settled and done numbers are no longer
//! distinguished; `settled` and `done` have no number up to `through` and none in common; credit never decreases.

use std::ops::Range;

use super::command::{self, Entries, SettlementCommand};
use super::error::SettlementError;
use super::ranges::Ranges;
use super::runs::Runs;
use super::task::{Outcome, TaskId, TaskRun};
use super::terms::SettlementTerms;

/// Changes caused by a command of the receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Number of newly settled messages, with any outcome.
    pub count: u64,
    /// Accepted messages: the first task of each run, and the number of tasks.
    pub accepted: Vec<(TaskRun, u64)>,
    /// Messages that were not accepted.
    pub refused: Vec<Refused>,
}

/// Messages that were not accepted, with consecutive tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Numbers of the messages.
    pub numbers: Range<u64>,
    /// Task of the first message.
    pub run: TaskRun,
    /// Outcome of the messages.
    pub outcome: Outcome,
    /// Reason for a rejection, in the receiver's words.
    pub reason: Vec<u8>,
}

/// The sending end of a link.
#[derive(Clone, Debug)]
pub struct SendingLink {
    credit: u64,
    /// All numbers up to `through` are settled or done. The receiver has settled all numbers up to `known_through`,
    /// and has said so of those up to `told_through`.
    through: u64,
    known_through: u64,
    told_through: u64,
    /// Settled numbers above `through`.
    settled: Ranges,
    /// Numbers above `through`, not in `settled`, whose tasks are done: the receiver has still to settle them.
    done: Ranges,
    /// The last overdue message, and whether the receiver has still to settle it.
    expired: u64,
    is_stuck: bool,
    runs: Runs,
    drains: bool,
    has_ended: bool,
    ahead: u64,
    pace: Option<u64>,
    informs: bool,
}

impl SendingLink {
    /// Creates a link to a receiver with these terms.
    pub fn new(theirs: SettlementTerms) -> SendingLink {
        SendingLink {
            credit: theirs.credit,
            through: 0,
            known_through: 0,
            told_through: 0,
            settled: Ranges::new(),
            done: Ranges::new(),
            expired: 0,
            is_stuck: false,
            runs: Runs::default(),
            drains: false,
            has_ended: false,
            ahead: theirs.ahead,
            pace: None,
            informs: false,
        }
    }

    /// Returns the number of messages that may be sent now; `sent` is the number of the last message.
    pub fn room(&self, sent: u64) -> u64 {
        if self.drains || self.has_ended { 0 } else { self.credit.saturating_sub(sent) }
    }

    /// Starts a run: the next message is the first of `run`. Called before a message whose task does not follow the
    /// last one. Appends to `out` the command that has to precede the message.
    pub fn begin(&mut self, sent: u64, run: TaskRun, out: &mut Vec<u8>) {
        if self.runs.begin(sent + 1, run) {
            command::encode_tasks(out, run);
        }
    }

    /// Returns the task of the next message, unless [`SendingLink::begin`] changes it.
    pub fn next_task(&self, sent: u64) -> Option<TaskRun> {
        self.runs.task_of(sent + 1)
    }

    /// Handles a command of the receiver.
    pub fn handle(&mut self, command: SettlementCommand<'_>, sent: u64) -> Result<Settled, SettlementError> {
        let mut settled = Settled::default();
        match command {
            SettlementCommand::Credit(credit) if credit < self.credit => {
                return Err(SettlementError::CreditBackwards { credit, before: self.credit });
            }
            SettlementCommand::Credit(credit) => self.credit = credit,
            SettlementCommand::Drain => self.drains = true,
            SettlementCommand::Pace(nanos) => self.pace = Some(nanos),
            SettlementCommand::Inform => self.informs = true,
            SettlementCommand::Settle { through, entries } => {
                // The command is applied completely or not at all: a bad command settles nothing.
                self.check_settle(through, entries, sent)?;
                let before = self.settled_count();
                self.settle_entries(entries, &mut settled);
                self.settle_through(through, &mut settled);
                settled.count = self.settled_count() - before;
            }
            // A report for the whole source, which informs its links one by one.
            SettlementCommand::Done(_) => {}
            SettlementCommand::Tasks(_) | SettlementCommand::End { .. } => {
                return Err(SettlementError::WrongEnd { command: command.name(), end: "receives" });
            }
        }
        Ok(settled)
    }

    /// Checks that all of these messages were sent and none was settled before.
    fn check_settle(&self, through: u64, entries: Entries<'_>, sent: u64) -> Result<(), SettlementError> {
        let mut told = Ranges::new();
        for entry in entries {
            let range = entry.first..self.checked_end(entry.last, sent)?;
            let new = self.new_part(&range);
            let twice = match range.start <= self.known_through {
                true => Some(range.start),
                false => self.settled.first_of(new.clone()).or_else(|| told.first_of(new.clone())),
            };
            if let Some(number) = twice {
                return Err(SettlementError::SettledTwice { number });
            }
            told.insert(new);
        }
        self.checked_end(through, sent)?;
        if through < self.told_through {
            return Err(SettlementError::SettledTwice { number: through });
        }
        Ok(())
    }

    fn settle_entries(&mut self, entries: Entries<'_>, settled: &mut Settled) {
        for entry in entries {
            let range = self.new_part(&(entry.first..entry.last + 1));
            self.is_stuck &= !(entry.first..=entry.last).contains(&self.expired);
            self.settled.insert(range.clone());
            if entry.outcome == Outcome::Accepted {
                self.note_accepted(range, settled);
            } else {
                // A task that is done stays done, whatever outcome this receiver reports.
                let parts = self.done.missing_in(range.clone()).flat_map(|part| self.runs.split(part));
                settled.refused.extend(parts.map(|(numbers, run)| Refused {
                    numbers,
                    run,
                    outcome: entry.outcome,
                    reason: entry.reason.to_vec(),
                }));
                self.done.remove(range);
            }
        }
    }

    fn checked_end(&self, last: u64, sent: u64) -> Result<u64, SettlementError> {
        if last > sent {
            return Err(SettlementError::NeverSent { number: last, sent });
        }
        Ok(last + 1)
    }

    /// Records the numbers of the range that are not done as accepted.
    fn note_accepted(&mut self, range: Range<u64>, settled: &mut Settled) {
        let parts = self.done.missing_in(range.clone()).flat_map(|part| self.runs.split(part));
        settled.accepted.extend(parts.map(|(range, run)| (run, range.end - range.start)));
        self.done.remove(range);
    }

    /// Returns the part of the range above `through`.
    fn new_part(&self, range: &Range<u64>) -> Range<u64> {
        range.start.max(self.through + 1)..range.end
    }

    fn settle_through(&mut self, through: u64, settled: &mut Settled) {
        let end = through + 1;
        self.told_through = through;
        self.known_through = self.known_through.max(through);
        self.is_stuck &= through < self.expired;
        if through > self.through {
            let missing = self.settled.missing_in(self.through + 1..end).collect::<Vec<_>>();
            for range in missing {
                self.note_accepted(range, settled);
            }
            self.settled.remove_below(end);
            self.through = through;
        }
        self.advance();
    }

    /// Moves `through` past the settled and done numbers.
    fn advance(&mut self) {
        loop {
            let next = self.through + 1;
            if let Some(joined) = self.settled.take_from(next) {
                self.through = joined.end - 1;
                if self.known_through + 1 == joined.start {
                    self.known_through = self.through;
                }
            } else if let Some(joined) = self.done.take_from(next) {
                self.through = joined.end - 1;
            } else {
                break;
            }
        }
        self.runs.forget_below(self.through + 1);
    }

    /// Marks these tasks as done, `count` in sequence from `first` on, as far as they were sent here and are
    /// unsettled. Returns the number of these messages; they do not have to be sent again.
    pub fn settle_tasks(&mut self, first: TaskId, count: u64, sent: u64) -> u64 {
        let numbers = self.runs.numbers_of(first, count, sent + 1).collect::<Vec<_>>();
        let mut done_count = 0;
        for range in numbers {
            let range = range.start.max(self.through + 1)..range.end;
            let new = self.missing_in(range).collect::<Vec<_>>();
            for part in new {
                done_count += part.end - part.start;
                self.done.insert(part);
            }
        }
        self.advance();
        done_count
    }

    /// Returns the number up to which no message has to be sent again.
    pub fn settled_through(&self) -> u64 {
        self.through
    }

    fn settled_count(&self) -> u64 {
        self.through + self.settled.count() + self.done.count()
    }

    /// Returns the number of unsettled messages of `sent`.
    pub fn unsettled_count(&self, sent: u64) -> u64 {
        sent - self.settled_count()
    }

    /// Returns whether messages are settled or done behind unsettled ones.
    pub fn has_gaps(&self) -> bool {
        !self.settled.is_empty() || !self.done.is_empty()
    }

    /// Returns the numbers of the range that may have to be sent again, ascending.
    pub fn unsettled_in(&self, numbers: Range<u64>) -> impl Iterator<Item = u64> + '_ {
        self.missing_in(numbers.start.max(self.through + 1)..numbers.end).flatten()
    }

    /// Returns the numbers of a range above `through` that are neither settled nor done.
    fn missing_in(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        self.settled.missing_in(range).flat_map(|part| self.done.missing_in(part))
    }

    /// Returns the unsettled messages of `sent`: ranges of numbers, with the task of the first message; the others of
    /// the range follow in sequence.
    pub fn unsettled(&self, sent: u64) -> impl Iterator<Item = (Range<u64>, TaskRun)> + '_ {
        self.missing_in(self.through + 1..sent + 1).flat_map(|range| self.runs.split(range))
    }

    /// Returns whether an unsettled message of `sent` has this task.
    pub fn has_unsettled(&self, task: TaskId, sent: u64) -> bool {
        let is_unsettled = |number: u64| {
            number > self.through && !self.settled.contains(number) && !self.done.contains(number)
        };
        self.runs.numbers_of(task, 1, sent + 1).any(|range| is_unsettled(range.start))
    }

    /// Returns the unsettled messages of `sent` after the end of the connection, each with the task for sending it
    /// again. A message up to `begun` counts as delivered, because the receiver may have seen it.
    pub fn lost(&self, sent: u64, begun: u64) -> impl Iterator<Item = (u64, TaskRun)> + '_ {
        self.unsettled(sent).flat_map(move |(range, run)| {
            range.enumerate().map(move |(offset, number)| {
                let mut task = run.plus(offset as u64);
                task.deliveries = task.deliveries.saturating_add(u16::from(number <= begun));
                (number, task)
            })
        })
    }

    /// Gives up `overdue` tasks as if they were done. Returns the numbers of their unsettled messages of `sent`, and
    /// the task of each. A message up to `begun` counts as delivered, because the receiver may have seen it.
    pub fn expire(&mut self, sent: u64, begun: u64, overdue: impl Fn(TaskId) -> bool) -> Vec<(u64, TaskRun)> {
        let expired = self.lost(sent, begun).filter(|(_, task)| overdue(task.id)).collect::<Vec<_>>();
        for (number, _) in &expired {
            self.done.insert(*number..number + 1);
            if *number > self.expired {
                (self.expired, self.is_stuck) = (*number, true);
            }
        }
        self.advance();
        expired
    }

    /// Returns whether the receiver has still to settle an overdue task: it may never settle another one.
    pub fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// Returns whether the receiver wants no new messages.
    pub fn drains(&self) -> bool {
        self.drains
    }

    /// Returns the nanoseconds that the receiver takes for a message, by its last report.
    pub fn pace(&self) -> Option<u64> {
        self.pace
    }

    /// Returns the largest number of unfinished messages that the receiver wants to have, if it has said so.
    pub fn ahead(&self) -> Option<u64> {
        Some(self.ahead).filter(|ahead| *ahead > 0)
    }

    /// Returns whether the receiver wants to be informed of its completed tasks.
    pub fn informs(&self) -> bool {
        self.informs
    }

    /// Ends the messages: appends the commands for the receiver, once.
    pub fn end(&mut self, sent: u64, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.has_ended, true) {
            command::encode_end(out, sent);
        }
    }

    /// Returns whether [`SendingLink::end`] was called.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }
}

#[cfg(test)]
mod tests {
    use super::super::task::Content;
    use super::*;

    #[test]
    fn what_is_settled_and_done_in_turns_leaves_nothing_behind() {
        let mut link = SendingLink::new(SettlementTerms { credit: u64::MAX, ..Default::default() });
        let mut sent = 0;
        for _ in 0..1000 {
            // Each task is a run of its own.
            for _ in 0..2 {
                let id = TaskId { epoch: 1, sequence: 10 * sent };
                link.begin(sent, TaskRun { id, deliveries: 0, content: Content::Message }, &mut Vec::new());
                sent += 1;
            }
            let (mut entries, mut bytes) = (Vec::new(), Vec::new());
            let accepted =
                command::Entry { outcome: Outcome::Accepted, first: sent, last: sent, reason: b"" };
            command::encode_entry(&mut entries, &accepted);
            command::encode_settle(&mut bytes, 0, &entries);
            let command = crate::zmtp::command::parse(&bytes[2..]).unwrap();
            let command = command::parse(&command).unwrap().unwrap();
            assert_eq!(link.handle(command, sent).unwrap().count, 1);
            assert_eq!(link.settle_tasks(TaskId { epoch: 1, sequence: 10 * (sent - 2) }, 1, sent), 1);
            assert_eq!((link.settled_through(), link.unsettled_count(sent)), (sent, 0));
        }
        assert_eq!((link.settled.range_count(), link.done.range_count(), link.runs.count()), (0, 0, 1));
    }
}
