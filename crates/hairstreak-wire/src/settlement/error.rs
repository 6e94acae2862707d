//! `SettlementError`: violations of the settlement rules. Each ends the link; unsettled messages on it are sent
//! again.

use crate::Blame;

/// A violation by the peer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettlementError {
    /// A command has the wrong size.
    #[error("malformed {command} with {size} bytes of data")]
    Malformed {
        /// Name of the command.
        command: &'static str,
        /// Size of the data behind the name, in bytes.
        size: usize,
    },
    /// The settlement property in the peer's READY is malformed.
    #[error("malformed X-Hairstreak-Settlement of {size} bytes")]
    MalformedTerms {
        /// The property's value, in bytes.
        size: usize,
    },
    /// The peer does not settle, and only settling peers may connect here.
    #[error("this socket is only for peers that settle: X-Hairstreak-Settlement is missing")]
    NoTerms,
    /// The outcome is unknown in every version.
    #[error("X-SETTLE with the unknown outcome {outcome}")]
    UnknownOutcome {
        /// The received value.
        outcome: u8,
    },
    /// A range ends before it begins, or begins at 0.
    #[error("X-SETTLE of the messages {first} to {last}")]
    NoRange {
        /// The received value.
        first: u64,
        /// The received value.
        last: u64,
    },
    /// A command is for the other end of a link.
    #[error("{command} came from the end of the link that {end}")]
    WrongEnd {
        /// Name of the command.
        command: &'static str,
        /// Role of that end: "sends" or "receives".
        end: &'static str,
    },
    /// The peer settles a message that was not sent to it.
    #[error("X-SETTLE of message {number}, of {sent} that were sent")]
    NeverSent {
        /// Number of the message.
        number: u64,
        /// Number of messages sent.
        sent: u64,
    },
    /// The peer settles a message again.
    #[error("second X-SETTLE of message {number}")]
    SettledTwice {
        /// Number of the message.
        number: u64,
    },
    /// The peer reduces its credit.
    #[error("X-CREDIT of {credit} after {before}")]
    CreditBackwards {
        /// The received value.
        credit: u64,
        /// The former credit.
        before: u64,
    },
    /// The peer sent more messages than its credit allows.
    #[error("message {number} with credit for {credit}")]
    OverCredit {
        /// Number of the message.
        number: u64,
        /// The last number that was granted.
        credit: u64,
    },
    /// The peer sent a message before naming its task.
    #[error("message {number} before any X-TASKS")]
    NoTask {
        /// Number of the message.
        number: u64,
    },
    /// The sequence number of a task is higher than any source can reach.
    #[error("X-TASKS with the sequence {sequence}")]
    SequenceTooLarge {
        /// The received value.
        sequence: u64,
    },
    /// The flags of the peer's messages are unknown in every version, or contradict each other.
    #[error("X-TASKS with the flags {flags}")]
    UnknownFlags {
        /// The received value.
        flags: u8,
    },
    /// The peer sent a message marked as a group that is not one.
    #[error("message {number} is no group: {size} bytes for {frames} frames")]
    NoGroup {
        /// Number of the message.
        number: u64,
        /// Size of its first frame, in bytes.
        size: usize,
        /// Number of frames behind the first.
        frames: usize,
    },
    /// The peer sent a message that should be empty, because its task has no result, and is not.
    #[error("message {number} of a task without a result has {size} bytes")]
    NotEmpty {
        /// Number of the message.
        number: u64,
        /// Size of all its frames, in bytes.
        size: usize,
    },
    /// The peer reports a number of sent messages that differs from the number received.
    #[error("X-END after {count} messages, of which {received} came")]
    WrongEndCount {
        /// The received value.
        count: u64,
        /// Number of messages received.
        received: u64,
    },
    /// The peer continues behind its own end.
    #[error("{what} behind X-END")]
    AfterEnd {
        /// Type of the data that arrived.
        what: &'static str,
    },
}

impl SettlementError {
    /// Returns the side at fault.
    pub fn blame(&self) -> Blame {
        Blame::PeerMisbehaved
    }
}
