//! NULL: both sides send READY with their properties, in any order, and are done. No security at all.

use crate::{
    escaped::escaped,
    zmtp::{
        command::{self, Command},
        handshake::HandshakeError,
        metadata::{self, Properties},
    },
};

/// The name in the greeting.
pub(super) const NAME: &str = "NULL";

/// One side of NULL.
#[derive(Clone, Debug)]
pub(in crate::zmtp) struct Null {
    metadata: Vec<u8>,
}

impl Null {
    /// A side that sends these properties.
    pub(in crate::zmtp) fn new(metadata: Vec<u8>) -> Null {
        Null { metadata }
    }

    pub(super) fn start(&mut self, outbox: &mut Vec<u8>) {
        command::encode_ready(outbox, &std::mem::take(&mut self.metadata));
    }

    pub(super) fn handle_command(&mut self, command: &Command<'_>) -> Result<Properties, HandshakeError> {
        match command {
            Command::Ready { metadata } => Ok(metadata::parse(metadata)?),
            other => Err(HandshakeError::UnexpectedCommand { name: escaped(other.name()) }),
        }
    }
}
