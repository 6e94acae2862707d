//! `Progress`: the state of a mechanism after a step. `HandshakeError`: the errors of handshake and mechanisms.

use super::command::{Command, CommandError};
use super::frame::FrameError;
use super::greeting::GreetingError;
use super::metadata::{MetadataError, Properties};
use super::peer::PeerError;
use super::role::Credentials;
use crate::Blame;
use crate::blame::escaped;

/// An error that ends a handshake, and with it the connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// The peer does not speak ZMTP 3 with our mechanism.
    #[error(transparent)]
    Greeting(#[from] GreetingError),
    /// A frame header is wrong.
    #[error("handshake: {0}")]
    Frame(#[from] FrameError),
    /// A message arrived before the handshake was complete.
    #[error("handshake: a message of {size} bytes before READY")]
    MessageBeforeReady {
        /// The size of its first frame, in bytes.
        size: usize,
    },
    /// A command exceeds [`HandshakeLimits::command_size_max`](super::handshake::HandshakeLimits::command_size_max).
    #[error("handshake: command of {size} bytes is over the limit of {limit}")]
    CommandTooLarge {
        /// The size that its header announces, in bytes.
        size: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// A command is malformed.
    #[error("handshake: {0}")]
    Command(#[from] CommandError),
    /// A command is not expected by the mechanism.
    #[error("handshake: unexpected command {name}")]
    UnexpectedCommand {
        /// Name of the command, escaped.
        name: String,
    },
    /// A command of the mechanism has the wrong size or form.
    #[error("handshake: malformed {command} with {size} bytes of data")]
    Malformed {
        /// Name of the command.
        command: &'static str,
        /// Size of the data behind the name, in bytes.
        size: usize,
    },
    /// A box was not sealed by the expected peer, or not for us.
    #[error("handshake: the box in {command} does not open with our keys")]
    Sealed {
        /// The command that carries the box, in either direction.
        command: &'static str,
    },
    /// An INITIATE has no cookie that this server issued recently.
    #[error("handshake: INITIATE with a cookie that is not ours, or too old")]
    Cookie,
    /// The sender of an INITIATE does not prove that it has the key that it names.
    #[error("handshake: INITIATE does not vouch for the client's key")]
    Vouch,
    /// Our side rejected the peer's credentials. The peer is told only the status.
    #[error("handshake: the peer's credentials are refused with status {status}")]
    Unauthorized {
        /// 400, or 300 for a temporary rejection.
        status: &'static str,
    },
    /// The properties are malformed.
    #[error("handshake: {0}")]
    Metadata(#[from] MetadataError),
    /// The peer's properties are well-formed but incompatible.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// The peer sent an ERROR.
    #[error("peer refused the connection: \"{reason}\"")]
    Refused {
        /// The peer's reason, escaped, up to 255 bytes.
        reason: String,
    },
}

impl HandshakeError {
    /// Returns the side at fault.
    pub fn blame(&self) -> Blame {
        match self {
            HandshakeError::Greeting(error) => error.blame(),
            HandshakeError::Frame(error) => error.blame(),
            HandshakeError::Command(error) => error.blame(),
            HandshakeError::Metadata(error) => error.blame(),
            HandshakeError::Peer(error) => error.blame(),
            HandshakeError::Refused { .. }
            | HandshakeError::Unauthorized { .. }
            | HandshakeError::Sealed { .. } => Blame::PeerIncompatible,
            HandshakeError::MessageBeforeReady { .. }
            | HandshakeError::CommandTooLarge { .. }
            | HandshakeError::UnexpectedCommand { .. }
            | HandshakeError::Malformed { .. }
            | HandshakeError::Cookie
            | HandshakeError::Vouch => Blame::PeerMisbehaved,
        }
    }
}

/// The state of a mechanism after a step.
#[derive(Debug)]
pub(super) enum Progress {
    /// The mechanism waits for a command of the peer.
    Waits,
    /// The mechanism waits for a verdict on these credentials.
    Asks(Credentials),
    /// The mechanism is complete. The properties are the peer's.
    Done(Properties),
}

/// Returns the error of a command that a mechanism does not expect now.
pub(super) fn unexpected(command: &Command<'_>) -> HandshakeError {
    HandshakeError::UnexpectedCommand { name: escaped(command.name()) }
}
