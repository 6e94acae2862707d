//! `SendingLink`: the end of a settled link that sends messages and remembers which are not settled.
//!
//! ```text
//!   [Open] --X-DRAIN--> [Draining] --end()--> [Ended]
//!      \__________________end()__________________/
//! ```
//!
//! Messages are sent while it is open; settled at any time.
//!
//! A task may be done without the receiver having settled it: its result went another way and was settled there. Then it is
//! nothing that would have to be sent again. Nor is a task that has had its time.
//!
//! Invariants: a number is settled once, as far as is known: of those up to `through` it is forgotten which the receiver has
//! settled and which were done; `settled` and `done` have none up to `through` and none in common; credit never goes down.

use std::ops::Range;

use super::command::{self, Entries, SettlementCommand};
use super::error::SettlementError;
use super::ranges::Ranges;
use super::runs::Runs;
use super::task::{Outcome, TaskId, TaskRun};
use super::terms::SettlementTerms;

/// What a command of the receiver changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Messages that are settled now and were not before, whatever became of them.
    pub count: u64,
    /// Those that were accepted: how many in sequence, from which task on.
    pub accepted: Vec<(TaskRun, u64)>,
    /// Those that were not.
    pub refused: Vec<Refused>,
}

/// Messages that were not accepted, their tasks in sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Their numbers.
    pub numbers: Range<u64>,
    /// Which task the first one is.
    pub run: TaskRun,
    /// What became of them instead.
    pub outcome: Outcome,
    /// Why they were rejected, in the receiver's words.
    pub reason: Vec<u8>,
}

/// The sending end of a link.
#[derive(Clone, Debug)]
pub struct SendingLink {
    credit: u64,
    /// All up to this number are settled or done, and the receiver has settled all up to that one, of which it said so of
    /// all up to the last.
    through: u64,
    known_through: u64,
    told_through: u64,
    /// Settled numbers above.
    settled: Ranges,
    /// Numbers above, not among those, whose tasks are done: the receiver has still to settle them.
    done: Ranges,
    /// The last of those that had their time, and whether the receiver has still to settle it.
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
    /// A new link to a receiver with these terms.
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

    /// How many messages may be sent now, `sent` being the number of the last.
    pub fn room(&self, sent: u64) -> u64 {
        if self.drains || self.has_ended { 0 } else { self.credit.saturating_sub(sent) }
    }

    /// Call before a message is sent that is not the task behind the last one's: the next is the first of `run`. Appends
    /// to `out` what the receiver has to be told before the message.
    pub fn begin(&mut self, sent: u64, run: TaskRun, out: &mut Vec<u8>) {
        if self.runs.begin(sent + 1, run) {
            command::encode_tasks(out, run);
        }
    }

    /// Which task the next message is, unless [`SendingLink::begin`] says otherwise.
    pub fn next_task(&self, sent: u64) -> Option<TaskRun> {
        self.runs.task_of(sent + 1)
    }

    /// Takes a command of the receiver.
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
                // All of it or nothing: what a bad command releases is not settled.
                self.check_settle(through, entries, sent)?;
                let before = self.settled_count();
                self.settle_entries(entries, &mut settled);
                self.settle_through(through, &mut settled);
                settled.count = self.settled_count() - before;
            }
            // Of the whole source: its links are told one by one.
            SettlementCommand::Done(_) => {}
            SettlementCommand::Tasks(_) | SettlementCommand::End { .. } => {
                return Err(SettlementError::WrongEnd { command: command.name(), end: "receives" });
            }
        }
        Ok(settled)
    }

    /// Whether all of it was sent and nothing settled before.
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
                // A task that is done is done, whatever this receiver made of it.
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

    /// Those of the range that are not done are accepted now.
    fn note_accepted(&mut self, range: Range<u64>, settled: &mut Settled) {
        let parts = self.done.missing_in(range.clone()).flat_map(|part| self.runs.split(part));
        settled.accepted.extend(parts.map(|(range, run)| (run, range.end - range.start)));
        self.done.remove(range);
    }

    /// Those of the range that are not known to be settled or done up to there.
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

    /// `through` passes what is settled and what is done.
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

    /// These tasks, `count` in sequence from `first` on, are done, as far as they were sent here and are not settled.
    /// Returns how many that were; they need not be sent again.
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

    /// No message up to this number has to be sent again.
    pub fn settled_through(&self) -> u64 {
        self.through
    }

    fn settled_count(&self) -> u64 {
        self.through + self.settled.count() + self.done.count()
    }

    /// Messages that are not settled, of `sent`.
    pub fn unsettled_count(&self, sent: u64) -> u64 {
        sent - self.settled_count()
    }

    /// Whether messages are settled, or done, behind others that are not.
    pub fn has_gaps(&self) -> bool {
        !self.settled.is_empty() || !self.done.is_empty()
    }

    /// Those of the numbers that may have to be sent again, ascending.
    pub fn unsettled_in(&self, numbers: Range<u64>) -> impl Iterator<Item = u64> + '_ {
        self.missing_in(numbers.start.max(self.through + 1)..numbers.end).flatten()
    }

    /// Of the range, which begins above `through`, what is neither settled nor done.
    fn missing_in(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        self.settled.missing_in(range).flat_map(|part| self.done.missing_in(part))
    }

    /// The messages that are not settled, of `sent`: ranges of numbers, with the task that the first of each is; the
    /// others of the range follow in sequence.
    pub fn unsettled(&self, sent: u64) -> impl Iterator<Item = (Range<u64>, TaskRun)> + '_ {
        self.missing_in(self.through + 1..sent + 1).flat_map(|range| self.runs.split(range))
    }

    /// Whether a message that is not settled, of `sent`, is this task.
    pub fn has_unsettled(&self, task: TaskId, sent: u64) -> bool {
        let is_unsettled = |number: u64| {
            number > self.through && !self.settled.contains(number) && !self.done.contains(number)
        };
        self.runs.numbers_of(task, 1, sent + 1).any(|range| is_unsettled(range.start))
    }

    /// The connection is over: the messages that are not settled, of `sent`, each as the task that it would be sent again
    /// as. Of those up to `begun` the receiver may have seen all.
    pub fn lost(&self, sent: u64, begun: u64) -> impl Iterator<Item = (u64, TaskRun)> + '_ {
        self.unsettled(sent).flat_map(move |(range, run)| {
            range.enumerate().map(move |(offset, number)| {
                let mut task = run.plus(offset as u64);
                task.deliveries = task.deliveries.saturating_add(u16::from(number <= begun));
                (number, task)
            })
        })
    }

    /// Tasks that are `overdue` are not waited for any more, as if they were done: of those that are not settled, of `sent`,
    /// gives the numbers, and what each was sent as. Of those up to `begun` the receiver may have seen all.
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

    /// Whether the receiver has still to settle a task that had its time: perhaps it will never settle another.
    pub fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// The receiver wants nothing new.
    pub fn drains(&self) -> bool {
        self.drains
    }

    /// Nanoseconds that the receiver takes for a message, as it has said last.
    pub fn pace(&self) -> Option<u64> {
        self.pace
    }

    /// The most messages that are not done the receiver wants to have, if it has said so.
    pub fn ahead(&self) -> Option<u64> {
        Some(self.ahead).filter(|ahead| *ahead > 0)
    }

    /// The receiver wants to hear what of its tasks is done.
    pub fn informs(&self) -> bool {
        self.informs
    }

    /// No message follows: appends what the receiver has to be told, once.
    pub fn end(&mut self, sent: u64, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.has_ended, true) {
            command::encode_end(out, sent);
        }
    }

    /// Whether [`SendingLink::end`] was called.
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
            // Each task a run of its own.
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
