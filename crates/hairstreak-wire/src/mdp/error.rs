//! `MdpError`: why a message is no command of MDP.

use super::version::Version;
use crate::Blame;
use crate::blame::escaped;

/// Why a message is no command of MDP, or not one for this side.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MdpError {
    /// Another protocol, another version of it, or nothing.
    #[error("the header is \"{found}\", not one of MDP 0.1 or 0.2")]
    OtherProtocol {
        /// What stands there, escaped.
        found: String,
    },
    /// A frame is missing.
    #[error("there is no {0}")]
    Missing(&'static str),
    /// A command that the version does not have, or not for this side.
    #[error("\"{found}\" is no command here")]
    UnknownCommand {
        /// What stands there, escaped.
        found: String,
    },
    /// A service's name out of its limits.
    #[error("a service's name of {size} bytes: it must have 1 to {SERVICE_NAME_SIZE_MAX}")]
    ServiceName {
        /// Its size.
        size: usize,
    },
    /// Something where an empty frame belongs.
    #[error("{size} bytes stand where an empty frame belongs behind the client's address")]
    NoDelimiter {
        /// How many.
        size: usize,
    },
    /// Frames behind a command that is whole.
    #[error("{count} frames stand behind a command that ends before them")]
    Surplus {
        /// How many.
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

    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        match self {
            MdpError::OtherProtocol { .. } => Blame::PeerIncompatible,
            _ => Blame::PeerMisbehaved,
        }
    }

    /// The version whose worker sent it, if it was a worker's: it is told to go.
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

/// Whether a service may be called so: 1 to [`SERVICE_NAME_SIZE_MAX`] bytes, whichever.
pub fn is_service_name(name: &[u8]) -> bool {
    (1..=SERVICE_NAME_SIZE_MAX).contains(&name.len())
}

/// Whether the broker itself answers to the name: `mmi.*` (RFC 8), and `hairstreak.*`.
pub fn is_management(name: &[u8]) -> bool {
    name.starts_with(b"mmi.") || name.starts_with(b"hairstreak.")
}
