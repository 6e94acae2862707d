//! `MdpError`: a message is not a command of MDP.

use super::version::Version;
use crate::Blame;
use crate::blame::escaped;

/// A message is not a command of MDP, or not one for this side.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MdpError {
    /// The header names another protocol or version, or is missing.
    #[error("the header is \"{found}\", not one of MDP 0.1 or 0.2")]
    OtherProtocol {
        /// The header, escaped.
        found: String,
    },
    /// A frame is missing.
    #[error("there is no {0}")]
    Missing(&'static str),
    /// The version does not have the command, or it is not for this side.
    #[error("\"{found}\" is no command here")]
    UnknownCommand {
        /// The command, escaped.
        found: String,
    },
    /// The length of a service's name is out of its limits.
    #[error("a service's name of {size} bytes: it must have 1 to {SERVICE_NAME_SIZE_MAX}")]
    ServiceName {
        /// Size of the name, in bytes.
        size: usize,
    },
    /// The frame that should be empty is not.
    #[error("{size} bytes stand where an empty frame belongs behind the client's address")]
    NoDelimiter {
        /// Size of the frame, in bytes.
        size: usize,
    },
    /// Frames follow a complete command.
    #[error("{count} frames stand behind a command that ends before them")]
    Surplus {
        /// Number of these frames.
        count: usize,
    },
}

impl MdpError {
    pub(super) fn other_protocol(found: &[u8]) -> MdpError {
        MdpError::OtherProtocol { found: escaped(found) }
    }

    pub(super) fn unknown_command(found: &[u8]) -> MdpError {
        MdpError::UnknownCommand { found: escaped(found) }
    }

    /// Returns the side at fault.
    pub fn blame(&self) -> Blame {
        match self {
            MdpError::OtherProtocol { .. } => Blame::PeerIncompatible,
            _ => Blame::PeerMisbehaved,
        }
    }

    /// Returns the version of the worker that sent the message, if it came from a worker. The broker then tells the
    /// worker to disconnect.
    pub fn worker_version<F: AsRef<[u8]>>(frames: &[F]) -> Option<Version> {
        let at = |index: usize| frames.get(index).map(AsRef::as_ref);
        match (at(0), at(1)) {
            (Some(b""), Some(b"MDPW01")) => Some(Version::V01),
            (Some(b"MDPW02"), _) => Some(Version::V02),
            _ => None,
        }
    }
}

/// The longest name of a service, in bytes.
pub const SERVICE_NAME_SIZE_MAX: usize = 255;

/// Returns whether a service can have this name: any 1 to [`SERVICE_NAME_SIZE_MAX`] bytes.
pub fn is_service_name(name: &[u8]) -> bool {
    (1..=SERVICE_NAME_SIZE_MAX).contains(&name.len())
}

/// Returns whether the broker itself answers requests to this name: `mmi.*` (RFC 8), and `hairstreak.*`.
pub fn is_management(name: &[u8]) -> bool {
    name.starts_with(b"mmi.") || name.starts_with(b"hairstreak.")
}
