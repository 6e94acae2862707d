//! How a peer breaks the rules of settlement. Each ends the link; what was unsettled on it is sent again.

use crate::Blame;

/// What the peer did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettlementError {
    /// A command of the wrong size.
    #[error("malformed {command} with {size} bytes of data")]
    Malformed {
        /// Its name.
        command: &'static str,
        /// What follows the name, in bytes.
        size: usize,
    },
    /// What it says of itself in READY is no such property.
    #[error("malformed X-Hairstreak-Settlement of {size} bytes")]
    MalformedTerms {
        /// The property's value, in bytes.
        size: usize,
    },
    /// It does not settle, where only those may connect that do.
    #[error("this socket is only for peers that settle: X-Hairstreak-Settlement is missing")]
    NoTerms,
    /// An outcome that no version has.
    #[error("X-SETTLE with the unknown outcome {outcome}")]
    UnknownOutcome {
        /// As it came.
        outcome: u8,
    },
    /// A range that ends before it begins, or begins at 0.
    #[error("X-SETTLE of the messages {first} to {last}")]
    NoRange {
        /// As it came.
        first: u64,
        /// As it came.
        last: u64,
    },
    /// A command for the other end of a link.
    #[error("{command} came from the end of the link that {end}")]
    WrongEnd {
        /// Its name.
        command: &'static str,
        /// What that end does: "sends" or "receives".
        end: &'static str,
    },
    /// It settles a message that it was not sent.
    #[error("X-SETTLE of message {number}, of {sent} that were sent")]
    NeverSent {
        /// Which.
        number: u64,
        /// How many were sent.
        sent: u64,
    },
    /// It settles a message again.
    #[error("second X-SETTLE of message {number}")]
    SettledTwice {
        /// Which.
        number: u64,
    },
    /// It takes credit back.
    #[error("X-CREDIT of {credit} after {before}")]
    CreditBackwards {
        /// As it came.
        credit: u64,
        /// What it was.
        before: u64,
    },
    /// It sent more than it had credit for.
    #[error("message {number} with credit for {credit}")]
    OverCredit {
        /// Which.
        number: u64,
        /// The last one that was granted.
        credit: u64,
    },
    /// It sent a message without saying which task it is.
    #[error("message {number} before any X-TASKS")]
    NoTask {
        /// Which.
        number: u64,
    },
    /// It counts its tasks where no source has got to.
    #[error("X-TASKS with the sequence {sequence}")]
    SequenceTooLarge {
        /// As it came.
        sequence: u64,
    },
    /// It says of its messages what no version has, or two things at once.
    #[error("X-TASKS with the flags {flags}")]
    UnknownFlags {
        /// As they came.
        flags: u8,
    },
    /// It sent as a group what is none.
    #[error("message {number} is no group: {size} bytes for {frames} frames")]
    NoGroup {
        /// Which.
        number: u64,
        /// Of its first frame.
        size: usize,
        /// Behind that.
        frames: usize,
    },
    /// It sent something as a message that is empty because its task has no result.
    #[error("message {number} of a task without a result has {size} bytes")]
    NotEmpty {
        /// Which.
        number: u64,
        /// Of all its frames.
        size: usize,
    },
    /// It says that it sent another number of messages than came.
    #[error("X-END after {count} messages, of which {received} came")]
    WrongEndCount {
        /// As it came.
        count: u64,
        /// How many came.
        received: u64,
    },
    /// It goes on behind its own end.
    #[error("{what} behind X-END")]
    AfterEnd {
        /// What came.
        what: &'static str,
    },
}

impl SettlementError {
    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        Blame::PeerMisbehaved
    }
}
