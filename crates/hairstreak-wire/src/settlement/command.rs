//! The commands of settlement, as ZMTP commands that other peers skip.
//!
//! ```text
//! X-TASKS   epoch (8) | sequence (8) | deliveries (2) | flags  from the sender; flags (1): 1 no results, 2 groups
//! X-END     count (8)                                         from the sender
//! X-SETTLE  through (8) | entries until the end               from the receiver
//! X-CREDIT  number (8)                                        from the receiver
//! X-DRAIN                                                     from the receiver
//! X-PACE    nanoseconds (8)                                   from the receiver
//! X-INFORM                                                    from the receiver
//! X-DONE    runs until the end, at least one                  from the receiver; from the sender, if asked to inform
//!
//! entry:    outcome (1) | first (8) | last (8)                outcome 0 accepted, 1 released
//!           2           | first (8) | last (8) | reason size (1) | reason
//! run:      epoch (8) | sequence (8) | count (8), at least 1
//! ```
//!
//! All numbers are big endian. A parsed command borrows from the frame's body. All of it has been checked, except for
//! rules that depend on the state of the link.

use super::error::SettlementError;
use super::task::{Content, Outcome, TaskId, TaskRun};
use crate::zmtp::command::{self, Command};

const TASKS: &str = "X-TASKS";
const END: &str = "X-END";
const SETTLE: &str = "X-SETTLE";
const CREDIT: &str = "X-CREDIT";
const DRAIN: &str = "X-DRAIN";
const DONE: &str = "X-DONE";
const PACE: &str = "X-PACE";
const INFORM: &str = "X-INFORM";

/// Longest reason for a rejection, in bytes. A longer reason is cut.
pub const REJECTION_SIZE_MAX: usize = 255;

const TASKS_SIZE: usize = 19;
const RANGE_SIZE: usize = 17;
const RUN_SIZE: usize = 24;
/// The flags of X-TASKS, at most one of them set.
const NOTHING: u8 = 1;
const GROUP: u8 = 2;

/// A command, borrowed from the body of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettlementCommand<'a> {
    /// Task of the next message. The messages behind it follow in sequence.
    Tasks(TaskRun),
    /// No more messages follow.
    End {
        /// Number of messages sent on this link.
        count: u64,
    },
    /// Outcomes of messages.
    Settle {
        /// All messages up to this number are accepted, except those in an entry of this command or an earlier one.
        through: u64,
        /// Entries for further messages.
        entries: Entries<'a>,
    },
    /// The number of the last message that may be sent.
    Credit(u64),
    /// The receiver wants no new messages. The sender answers with an END that tells how many are still under way.
    Drain,
    /// Tasks that have had their result, on any link. No peer has to keep them.
    Done(DoneTasks<'a>),
    /// Nanoseconds that the receiver takes for a message, on average, from the start of its processing.
    Pace(u64),
    /// The receiver passes messages on, and wants to be informed of the completed tasks.
    Inform,
}

/// The checked runs of an X-DONE: the first task of each, and the number of consecutive tasks including it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoneTasks<'a>(&'a [u8]);

impl Iterator for DoneTasks<'_> {
    type Item = (TaskId, u64);

    fn next(&mut self) -> Option<(TaskId, u64)> {
        let (run, rest) = self.0.split_first_chunk::<RUN_SIZE>()?;
        self.0 = rest;
        let [epoch, sequence, count] =
            [0, 8, 16].map(|at| parse_number(&run[at..at + 8]).unwrap_or_default());
        Some((TaskId { epoch, sequence }, count))
    }
}

/// Messages with the same outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Outcome of the messages.
    pub outcome: Outcome,
    /// Number of the first message, at least 1.
    pub first: u64,
    /// Number of the last message, at least `first`.
    pub last: u64,
    /// Reason for a rejection, in the receiver's words, up to 255 bytes.
    pub reason: &'a [u8],
}

/// The checked entries of an X-SETTLE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entries<'a>(&'a [u8]);

impl Entries<'_> {
    /// Returns whether no entries are left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        // Checked while parsing: only the end stops the iteration.
        let (entry, rest) = split_entry(self.0).ok().flatten()?;
        self.0 = rest;
        Some(entry)
    }
}

impl SettlementCommand<'_> {
    /// Returns the name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            SettlementCommand::Tasks(_) => TASKS,
            SettlementCommand::End { .. } => END,
            SettlementCommand::Settle { .. } => SETTLE,
            SettlementCommand::Credit(_) => CREDIT,
            SettlementCommand::Drain => DRAIN,
            SettlementCommand::Done(_) => DONE,
            SettlementCommand::Pace(_) => PACE,
            SettlementCommand::Inform => INFORM,
        }
    }
}

/// Parses a ZMTP command as a command of settlement. `None` if it is another command.
pub fn parse<'a>(command: &Command<'a>) -> Result<Option<SettlementCommand<'a>>, SettlementError> {
    let Command::Unknown { name, data } = *command else { return Ok(None) };
    let malformed = |command| SettlementError::Malformed { command, size: data.len() };
    Ok(Some(match name {
        b"X-TASKS" => parse_tasks(data)?.ok_or(malformed(TASKS))?,
        b"X-END" => SettlementCommand::End { count: parse_number(data).ok_or(malformed(END))? },
        b"X-SETTLE" => {
            let (through, entries) = data.split_first_chunk().ok_or(malformed(SETTLE))?;
            let mut rest = entries;
            while let Some((_, behind)) = split_entry(rest)? {
                rest = behind;
            }
            if !rest.is_empty() {
                return Err(malformed(SETTLE));
            }
            SettlementCommand::Settle { through: u64::from_be_bytes(*through), entries: Entries(entries) }
        }
        b"X-CREDIT" => SettlementCommand::Credit(parse_number(data).ok_or(malformed(CREDIT))?),
        b"X-PACE" => SettlementCommand::Pace(parse_number(data).ok_or(malformed(PACE))?),
        b"X-DRAIN" if data.is_empty() => SettlementCommand::Drain,
        b"X-DRAIN" => return Err(malformed(DRAIN)),
        b"X-INFORM" if data.is_empty() => SettlementCommand::Inform,
        b"X-INFORM" => return Err(malformed(INFORM)),
        b"X-DONE" => {
            let is_whole = !data.is_empty() && data.len().is_multiple_of(RUN_SIZE);
            if !is_whole || DoneTasks(data).any(|(_, count)| count == 0) {
                return Err(malformed(DONE));
            }
            SettlementCommand::Done(DoneTasks(data))
        }
        _ => return Ok(None),
    }))
}

fn parse_number(data: &[u8]) -> Option<u64> {
    data.try_into().ok().map(u64::from_be_bytes)
}

/// Parses an X-TASKS. `None` if its size is wrong.
fn parse_tasks(data: &[u8]) -> Result<Option<SettlementCommand<'static>>, SettlementError> {
    let Ok(data) = <&[u8; TASKS_SIZE]>::try_from(data) else { return Ok(None) };
    let number = |at: usize| parse_number(&data[at..at + 8]).unwrap_or_default();
    let id = TaskId { epoch: number(0), sequence: number(8) };
    let deliveries = u16::from_be_bytes([data[16], data[17]]);
    let content = match data[18] {
        0 => Content::Message,
        NOTHING => Content::Nothing,
        GROUP => Content::Group,
        // A receiver that does not know the type of a message must not take it for another type.
        flags => return Err(SettlementError::UnknownFlags { flags }),
    };
    Ok(Some(SettlementCommand::Tasks(TaskRun { id, deliveries, content })))
}

/// Splits off the first entry. `None` if there is no complete one.
fn split_entry(data: &[u8]) -> Result<Option<(Entry<'_>, &[u8])>, SettlementError> {
    let Some((range, rest)) = data.split_first_chunk::<RANGE_SIZE>() else { return Ok(None) };
    let number = |at: usize| parse_number(&range[at..at + 8]).unwrap_or_default();
    let (outcome, first, last) = (range[0], number(1), number(9));
    let outcome = Outcome::of(outcome).ok_or(SettlementError::UnknownOutcome { outcome })?;
    if first == 0 || last < first {
        return Err(SettlementError::NoRange { first, last });
    }
    let (reason, rest) = match (outcome, rest.split_first()) {
        (Outcome::Accepted | Outcome::Released, _) => (&[][..], rest),
        (Outcome::Rejected, Some((&size, rest))) if usize::from(size) <= rest.len() => {
            rest.split_at(usize::from(size))
        }
        (Outcome::Rejected, _) => return Ok(None),
    };
    Ok(Some((Entry { outcome, first, last, reason }, rest)))
}

/// Appends a whole X-TASKS frame.
pub fn encode_tasks(out: &mut Vec<u8>, run: TaskRun) {
    let TaskRun { id: TaskId { epoch, sequence }, deliveries, content } = run;
    let flags = match content {
        Content::Message => 0,
        Content::Nothing => NOTHING,
        Content::Group => GROUP,
    };
    let data = [&epoch.to_be_bytes()[..], &sequence.to_be_bytes(), &deliveries.to_be_bytes(), &[flags]];
    command::encode(out, TASKS.as_bytes(), &data);
}

/// Appends a whole X-END frame.
pub fn encode_end(out: &mut Vec<u8>, count: u64) {
    command::encode(out, END.as_bytes(), &[&count.to_be_bytes()]);
}

/// Appends a whole X-SETTLE frame with entries as [`encode_entry`] writes them.
pub fn encode_settle(out: &mut Vec<u8>, through: u64, entries: &[u8]) {
    command::encode(out, SETTLE.as_bytes(), &[&through.to_be_bytes(), entries]);
}

/// Appends an entry for [`encode_settle`], with the first 255 bytes of its reason.
pub fn encode_entry(out: &mut Vec<u8>, entry: &Entry<'_>) {
    out.push(entry.outcome as u8);
    out.extend(entry.first.to_be_bytes());
    out.extend(entry.last.to_be_bytes());
    if entry.outcome == Outcome::Rejected {
        let reason = &entry.reason[..entry.reason.len().min(REJECTION_SIZE_MAX)];
        out.push(reason.len() as u8);
        out.extend(reason);
    }
}

/// Appends a whole X-CREDIT frame.
pub fn encode_credit(out: &mut Vec<u8>, number: u64) {
    command::encode(out, CREDIT.as_bytes(), &[&number.to_be_bytes()]);
}

/// Appends a whole X-DONE frame, of at least one run.
pub fn encode_done(out: &mut Vec<u8>, tasks: &[(TaskId, u64)]) {
    let numbers = tasks.iter().flat_map(|(first, count)| [first.epoch, first.sequence, *count]);
    let data = numbers.flat_map(u64::to_be_bytes).collect::<Vec<_>>();
    command::encode(out, DONE.as_bytes(), &[&data]);
}

/// Appends a whole X-PACE frame.
pub fn encode_pace(out: &mut Vec<u8>, nanos: u64) {
    command::encode(out, PACE.as_bytes(), &[&nanos.to_be_bytes()]);
}

/// Appends a whole X-DRAIN frame.
pub fn encode_drain(out: &mut Vec<u8>) {
    command::encode(out, DRAIN.as_bytes(), &[]);
}

/// Appends a whole X-INFORM frame.
pub fn encode_inform(out: &mut Vec<u8>) {
    command::encode(out, INFORM.as_bytes(), &[]);
}
