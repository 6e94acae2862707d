//! `ReceivingLink`: the end of a settled link that receives messages and settles them.
//!
//! A settlement is sent when half the window is settled, and before its owner sleeps, because a small window would
//! stall otherwise. Outcomes other than acceptance are sent immediately.
//!
//! Invariants: a number is settled once; `settled` has no number up to `through`; `accepted` has the numbers of
//! `settled` that were not reported to the sender.

use std::ops::Range;

use super::command::{self, Entry, SettlementCommand};
use super::error::SettlementError;
use super::ranges::Ranges;
use super::runs::Runs;
use super::task::{Outcome, SEQUENCE_MAX, TaskId, TaskRun};

/// Limit of the entries in one command, in bytes. More entries go in several commands.
const ENTRIES_SIZE_MAX: usize = 16 * 1024;

/// The receiving end of a link.
#[derive(Clone, Debug)]
pub struct ReceivingLink {
    /// Largest number of unsettled messages.
    window: u64,
    /// The last number that was granted.
    credit: u64,
    through: u64,
    told_through: u64,
    settled: Ranges,
    /// Number of settled messages, now and when the sender was last told.
    settled_count: u64,
    told_count: u64,
    /// Numbers above `through`, accepted and not reported.
    accepted: Ranges,
    /// Data to send immediately: whole commands, and the entries of the next one.
    commands: Vec<u8>,
    entries: Vec<u8>,
    runs: Runs,
    /// Number of messages after which the sender has ended.
    ended: Option<u64>,
    /// The sender was asked to report completed tasks.
    is_informed: bool,
}

impl ReceivingLink {
    /// Creates a link on which up to `window` messages may be unsettled; with 0 no message arrives.
    pub fn new(window: u64) -> ReceivingLink {
        ReceivingLink {
            window,
            credit: window,
            through: 0,
            told_through: 0,
            settled: Ranges::new(),
            settled_count: 0,
            told_count: 0,
            accepted: Ranges::new(),
            commands: Vec::new(),
            entries: Vec::new(),
            runs: Runs::default(),
            ended: None,
            is_informed: false,
        }
    }

    /// Handles a command of the sender, which arrived behind message `received`.
    pub fn handle(&mut self, command: SettlementCommand<'_>, received: u64) -> Result<(), SettlementError> {
        self.check(received)?;
        match command {
            SettlementCommand::Tasks(_) | SettlementCommand::End { .. } if self.ended.is_some() => {
                Err(SettlementError::AfterEnd { what: command.name() })
            }
            SettlementCommand::Tasks(TaskRun { id: TaskId { sequence, .. }, .. })
                if sequence > SEQUENCE_MAX =>
            {
                Err(SettlementError::SequenceTooLarge { sequence })
            }
            SettlementCommand::Tasks(run) => {
                self.runs.begin(received + 1, run);
                Ok(())
            }
            SettlementCommand::End { count } if count != received => {
                Err(SettlementError::WrongEndCount { count, received })
            }
            SettlementCommand::End { count } => {
                self.ended = Some(count);
                Ok(())
            }
            // A report of completed tasks that the owner has passed on.
            SettlementCommand::Done(_) if self.is_informed => Ok(()),
            SettlementCommand::Settle { .. }
            | SettlementCommand::Credit(_)
            | SettlementCommand::Drain
            | SettlementCommand::Done(_)
            | SettlementCommand::Inform
            | SettlementCommand::Pace(_) => {
                Err(SettlementError::WrongEnd { command: command.name(), end: "sends" })
            }
        }
    }

    /// Checks that the sender was allowed to send all messages up to `received`, as far as is known before a command
    /// behind them arrives.
    pub fn check(&self, received: u64) -> Result<(), SettlementError> {
        if received > self.credit {
            return Err(SettlementError::OverCredit { number: received, credit: self.credit });
        }
        if self.ended.is_some_and(|count| received > count) {
            return Err(SettlementError::AfterEnd { what: "a message" });
        }
        if received > 0 && self.runs.is_empty() {
            return Err(SettlementError::NoTask { number: 1 });
        }
        Ok(())
    }

    /// Returns the task of message `number`, unless the message is settled and forgotten.
    pub fn task_of(&self, number: u64) -> Option<TaskRun> {
        self.runs.task_of(number)
    }

    /// Returns the messages of `range`, split at gaps in the sequence, with the task of the first message of each
    /// part.
    pub fn tasks(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, TaskRun)> + '_ {
        self.runs.split(range)
    }

    /// Settles received messages. If one of them was settled before, settles none and returns false.
    pub fn settle(&mut self, range: Range<u64>, outcome: Outcome, reason: &[u8]) -> bool {
        if range.start <= self.through || !self.settled.insert(range.clone()) {
            return false;
        }
        self.settled_count += range.end - range.start;
        if outcome == Outcome::Accepted {
            self.accepted.insert(range);
        } else {
            let entry = Entry { outcome, first: range.start, last: range.end - 1, reason };
            self.push_entry(&entry);
        }
        self.advance();
        true
    }

    /// Settles the unsettled messages up to `handed` that belong to these tasks, `count` in sequence from `first` on.
    /// Returns their number.
    pub fn settle_tasks(
        &mut self,
        first: TaskId,
        count: u64,
        handed: u64,
        outcome: Outcome,
        reason: &[u8],
    ) -> u64 {
        let numbers = self.runs.numbers_of(first, count, handed + 1).collect::<Vec<_>>();
        let mut settled = 0;
        for range in numbers {
            let from = range.start.max(self.through + 1);
            let missing = self.settled.missing_in(from..range.end.max(from)).collect::<Vec<_>>();
            for range in missing {
                settled += range.end - range.start;
                self.settle(range, outcome, reason);
            }
        }
        settled
    }

    /// Accepts all unsettled messages up to `number`.
    pub fn accept_through(&mut self, number: u64) {
        if number <= self.through {
            return;
        }
        let before = self.settled.count();
        self.settled.remove_below(number + 1);
        let known = before - self.settled.count();
        self.settled_count += number - self.through - known;
        self.through = number;
        self.advance();
    }

    fn advance(&mut self) {
        if let Some(joined) = self.settled.take_from(self.through + 1) {
            self.through = joined.end - 1;
        }
        self.accepted.remove_below(self.through + 1);
        self.runs.forget_below(self.through + 1);
    }

    fn push_entry(&mut self, entry: &Entry<'_>) {
        if self.entries.len() >= ENTRIES_SIZE_MAX {
            command::encode_settle(&mut self.commands, self.told_through, &std::mem::take(&mut self.entries));
        }
        command::encode_entry(&mut self.entries, entry);
    }

    /// Changes the limit of unsettled messages. Granted credit stays granted.
    pub fn set_window(&mut self, window: u64) {
        self.window = window;
    }

    /// Returns whether the sender has to be told now, even if the owner continues.
    #[inline]
    pub fn is_due(&self) -> bool {
        let untold = self.settled_count - self.told_count;
        untold * 2 >= self.window && untold > 0 || !self.commands.is_empty()
    }

    /// Returns whether there is anything to report to the sender.
    pub fn has_news(&self) -> bool {
        self.is_due() || self.settled_count > self.told_count || self.next_credit() > self.credit
    }

    fn next_credit(&self) -> u64 {
        self.settled_count.saturating_add(self.window)
    }

    /// Appends the pending commands for the sender.
    pub fn tell(&mut self, out: &mut Vec<u8>) {
        let accepted = std::mem::take(&mut self.accepted);
        for range in accepted.iter() {
            let (first, last) = (range.start, range.end - 1);
            self.push_entry(&Entry { outcome: Outcome::Accepted, first, last, reason: &[] });
        }
        out.append(&mut self.commands);
        if self.through > self.told_through || !self.entries.is_empty() {
            command::encode_settle(out, self.through, &std::mem::take(&mut self.entries));
        }
        (self.told_through, self.told_count) = (self.through, self.settled_count);
        if self.next_credit() > self.credit {
            self.credit = self.next_credit();
            command::encode_credit(out, self.credit);
        }
    }

    /// Asks the sender for no new messages.
    pub fn drain(&mut self) {
        command::encode_drain(&mut self.commands);
    }

    /// Asks the sender to report completed tasks. Repeated calls have no effect.
    pub fn inform(&mut self) {
        if !std::mem::replace(&mut self.is_informed, true) {
            command::encode_inform(&mut self.commands);
        }
    }

    /// Returns whether the sender has announced the end of its messages.
    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Returns the number up to which all messages are settled.
    pub fn settled_through(&self) -> u64 {
        self.through
    }
}
