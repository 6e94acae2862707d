//! `VortexError`: the reason for which a fabric does not serve a process.

use std::io;

use thiserror::Error;

use super::address::VortexAddress;
use super::hello::FabricRefusal;

/// The reason for which a fabric does not serve a process.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum VortexError {
    /// No process serves a fabric of that name.
    #[error("no fabric \"{0}\" runs on this host: start one by `hairstreak fabric serve {0}`")]
    NoFabric(String),
    /// The process that served the fabric has ended.
    #[error("the fabric \"{0}\" is gone")]
    Gone(String),
    /// The fabric did not answer in time.
    #[error("the fabric \"{0}\" does not answer")]
    NoAnswer(String),
    /// The process that has the fabric's name does not answer as a fabric does.
    #[error("what is called fabric \"{0}\" is no fabric, or of another version")]
    Stranger(String),
    /// To connect needs a rank and a port.
    #[error("vortex://{0}: connecting needs a rank and a port, not a wildcard")]
    Wildcard(VortexAddress),
    /// A listener has no rank to connect from.
    #[error("vortex://{0}: a rank before ; is for connecting, not for binding")]
    Source(VortexAddress),
    /// The fabric refuses.
    #[error("{0}")]
    Refused(FabricRefusal),
    /// The process has no room for a connection that the fabric passes on.
    #[error("a connection came through fabric \"{0}\", and this process has no descriptor left for it")]
    NoDescriptor(String),
}

impl From<VortexError> for io::Error {
    fn from(error: VortexError) -> io::Error {
        let kind = match &error {
            VortexError::NoFabric(_) => io::ErrorKind::ConnectionRefused,
            VortexError::Gone(_) => io::ErrorKind::ConnectionReset,
            VortexError::NoAnswer(_) => io::ErrorKind::TimedOut,
            VortexError::Stranger(_) => io::ErrorKind::InvalidData,
            VortexError::Wildcard(_) | VortexError::Source(_) => io::ErrorKind::InvalidInput,
            VortexError::NoDescriptor(_) => io::ErrorKind::OutOfMemory,
            VortexError::Refused(refusal) => refusal.kind(),
        };
        io::Error::new(kind, error)
    }
}
