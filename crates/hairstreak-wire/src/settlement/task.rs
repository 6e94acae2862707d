//! Tasks: what names a message from end to end, and what can become of it.

/// The largest sequence that a link takes: what is counted from there on, for as long as a source lives, does not wrap.
pub(super) const SEQUENCE_MAX: u64 = u64::MAX / 2;

/// Names a task, whatever links it passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId {
    /// Drawn at random by the source of the tasks when it starts.
    pub epoch: u64,
    /// The source counts its tasks from 0.
    pub sequence: u64,
}

impl TaskId {
    /// The id of the task `count` behind this one. The source does not live to see the sequence wrap.
    pub fn plus(self, count: u64) -> TaskId {
        TaskId { sequence: self.sequence.wrapping_add(count), ..self }
    }
}

/// Tasks that follow each other on a link, each with the sequence number behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskRun {
    /// The first one's.
    pub id: TaskId,
    /// How often each was sent before, by whomever; a task that was is a redelivered one.
    pub deliveries: u16,
    /// What the message of each is.
    pub content: Content,
}

/// What the message of a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// What its sender gave.
    #[default]
    Message,
    /// Empty: the task has no result.
    Nothing,
    /// Several messages of the task in one: [`parse_group`](super::parse_group).
    Group,
}

impl TaskRun {
    /// The task `count` behind the first.
    pub fn plus(self, count: u64) -> TaskRun {
        TaskRun { id: self.id.plus(count), ..self }
    }
}

/// What became of a message, in the words of AMQP 1.0 (section 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Outcome {
    /// It was dealt with: the sender forgets it.
    Accepted = 0,
    /// It was not dealt with: the sender gives it to another peer, or to this one again.
    Released = 1,
    /// It cannot be dealt with: the sender gives it to nobody.
    Rejected = 2,
}

impl Outcome {
    pub(super) fn of(byte: u8) -> Option<Outcome> {
        [Outcome::Accepted, Outcome::Released, Outcome::Rejected]
            .into_iter()
            .find(|outcome| *outcome as u8 == byte)
    }
}
