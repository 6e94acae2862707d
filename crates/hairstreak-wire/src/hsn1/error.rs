//! `Hsn1Error`: why a message is no command of HSN1.

use super::header::PROTOCOL;
use super::held::HELD_COUNT_MAX;
use crate::Blame;
use crate::mdp::SERVICE_NAME_SIZE_MAX;

/// Why a message is no command of HSN1, or not one for this side.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Hsn1Error {
    /// It does not begin with [`PROTOCOL`].
    #[error("the header does not begin with \"{}\"", PROTOCOL.escape_ascii())]
    OtherProtocol,
    /// A header that is too short or too long for its command.
    #[error("a header of {size} bytes for command {command}")]
    HeaderSize {
        /// The command's byte; 0 where there is none.
        command: u8,
        /// The size of the header.
        size: usize,
    },
    /// A command nobody knows.
    #[error("command {0} is unknown")]
    UnknownCommand(u8),
    /// A command that is not for this side.
    #[error("{0} is no command for this side")]
    NotForHere(&'static str),
    /// Numbers count from 1, and the first unanswered one is none behind the request's.
    #[error("number {number} with first unanswered number {first}")]
    Number {
        /// The request's.
        number: u64,
        /// The first without a reply.
        first: u64,
    },
    /// A frame is missing.
    #[error("there is no {0}")]
    Missing(&'static str),
    /// Frames behind a command that is whole.
    #[error("{count} frames stand behind a command that ends before them")]
    Surplus {
        /// How many.
        count: usize,
    },
    /// A body both in the frame of the header and in frames behind it.
    #[error("{size} bytes stand behind the header in its frame, and frames follow")]
    TwoBodies {
        /// Bytes behind the header.
        size: usize,
    },
    /// A service's name out of its limits.
    #[error("a service's name of {size} bytes: it must have 1 to {SERVICE_NAME_SIZE_MAX}")]
    ServiceName {
        /// Its size.
        size: usize,
    },
    /// A list of requests that is not made of whole ranges, or of too many, or of one that ends before it begins.
    #[error("a list of {size} bytes is none of up to {HELD_COUNT_MAX} ranges of requests")]
    Held {
        /// Its size.
        size: usize,
    },
}

impl Hsn1Error {
    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        match self {
            Hsn1Error::OtherProtocol | Hsn1Error::UnknownCommand(_) => Blame::PeerIncompatible,
            _ => Blame::PeerMisbehaved,
        }
    }
}
