//! `Hsn1Error`: a message is not a command of HSN1.

use super::header::PROTOCOL;
use super::held::HELD_COUNT_MAX;
use crate::Blame;
use crate::mdp::SERVICE_NAME_SIZE_MAX;

/// A message is not a command of HSN1, or not one for this side.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Hsn1Error {
    /// The message does not begin with [`PROTOCOL`].
    #[error("the header does not begin with \"{}\"", PROTOCOL.escape_ascii())]
    OtherProtocol,
    /// The header is too short or too long for its command.
    #[error("a header of {size} bytes for command {command}")]
    HeaderSize {
        /// The command's byte; 0 if it is missing.
        command: u8,
        /// The size of the header.
        size: usize,
    },
    /// The command is unknown.
    #[error("command {0} is unknown")]
    UnknownCommand(u8),
    /// The command is not for this side.
    #[error("{0} is no command for this side")]
    NotForHere(&'static str),
    /// The first unanswered number is 0 or above the number of the request.
    #[error("number {number} with first unanswered number {first}")]
    Number {
        /// Number of the request.
        number: u64,
        /// The lowest number without a reply.
        first: u64,
    },
    /// A frame is missing.
    #[error("there is no {0}")]
    Missing(&'static str),
    /// Frames follow a complete command.
    #[error("{count} frames stand behind a command that ends before them")]
    Surplus {
        /// Number of these frames.
        count: usize,
    },
    /// The body is both in the frame of the header and in frames behind it.
    #[error("{size} bytes stand behind the header in its frame, and frames follow")]
    TwoBodies {
        /// Bytes behind the header.
        size: usize,
    },
    /// The length of a service's name is out of its limits.
    #[error("a service's name of {size} bytes: it must have 1 to {SERVICE_NAME_SIZE_MAX}")]
    ServiceName {
        /// Size of the name, in bytes.
        size: usize,
    },
    /// A list of requests has a partial range, too many ranges, or a range that ends before it begins.
    #[error("a list of {size} bytes is none of up to {HELD_COUNT_MAX} ranges of requests")]
    Held {
        /// Size of the list, in bytes.
        size: usize,
    },
}

impl Hsn1Error {
    /// Returns the side at fault.
    pub fn blame(&self) -> Blame {
        match self {
            Hsn1Error::OtherProtocol | Hsn1Error::UnknownCommand(_) => Blame::PeerIncompatible,
            _ => Blame::PeerMisbehaved,
        }
    }
}
