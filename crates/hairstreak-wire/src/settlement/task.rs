//! Tasks: the end-to-end ids of messages, and their outcomes.

/// Largest sequence number that a link accepts. A source that counts on from here does not wrap during its life.
pub(super) const SEQUENCE_MAX: u64 = u64::MAX / 2;

/// Id of a task, the same on all links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId {
    /// Random number, drawn by the source of the tasks when it starts.
    pub epoch: u64,
    /// Number of the task at its source, counted from 0.
    pub sequence: u64,
}

impl TaskId {
    /// Returns the id of the task `count` behind this one. A source does not live long enough for the sequence to
    /// wrap.
    pub fn plus(self, count: u64) -> TaskId {
        TaskId { sequence: self.sequence.wrapping_add(count), ..self }
    }
}

/// Consecutive tasks on a link, with consecutive sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskRun {
    /// Id of the first task.
    pub id: TaskId,
    /// Number of earlier deliveries of each task, by any sender. A task with earlier deliveries is redelivered.
    pub deliveries: u16,
    /// Type of the message of each task.
    pub content: Content,
}

/// Type of the message of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// The message that the sender passed.
    #[default]
    Message,
    /// Empty: the task has no result.
    Nothing,
    /// Several messages of the task in one: [`parse_group`](super::parse_group).
    Group,
}

impl TaskRun {
    /// Returns the run that starts `count` tasks later.
    pub fn plus(self, count: u64) -> TaskRun {
        TaskRun { id: self.id.plus(count), ..self }
    }
}

/// Outcome of a message, named as in AMQP 1.0 (section 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Outcome {
    /// The message was processed: the sender forgets it.
    Accepted = 0,
    /// The message was not processed: the sender gives it to another peer, or to this one again.
    Released = 1,
    /// The message cannot be processed: the sender gives it to no peer.
    Rejected = 2,
}

impl Outcome {
    pub(super) fn of(byte: u8) -> Option<Outcome> {
        [Outcome::Accepted, Outcome::Released, Outcome::Rejected]
            .into_iter()
            .find(|outcome| *outcome as u8 == byte)
    }
}
