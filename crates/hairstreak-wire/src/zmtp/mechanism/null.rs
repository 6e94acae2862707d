//! NULL: both sides send READY with their properties, in any order, and are done. There is no security: a server can
//! at most be asked for a verdict before it sends anything.

use crate::zmtp::command::{self, Command};
use crate::zmtp::metadata;
use crate::zmtp::progress::{HandshakeError, Progress, unexpected};
use crate::zmtp::role::Credentials;

/// One side of NULL.
#[derive(Clone, Debug)]
pub(in crate::zmtp) struct Null {
    metadata: Vec<u8>,
    asks: bool,
}

impl Null {
    /// Creates a side that sends these properties. A side that `asks` sends them after a positive verdict.
    pub(super) fn new(metadata: Vec<u8>, asks: bool) -> Null {
        Null { metadata, asks }
    }

    pub(super) fn start(&mut self, outbox: &mut Vec<u8>) -> Progress {
        if self.asks {
            return Progress::Asks(Credentials::Null);
        }
        self.accept(outbox);
        Progress::Waits
    }

    pub(super) fn accept(&mut self, outbox: &mut Vec<u8>) {
        command::encode_ready(outbox, &std::mem::take(&mut self.metadata));
    }

    pub(super) fn handle_command(&mut self, command: &Command<'_>) -> Result<Progress, HandshakeError> {
        match command {
            Command::Ready { metadata } => Ok(Progress::Done(metadata::parse(metadata)?)),
            other => Err(unexpected(other)),
        }
    }
}
