//! The security mechanism: what happens between the greetings and the first traffic.
//!
//! The handshake brings the commands of the peer here, one at a time, and sends what a mechanism
//! appends to the outbox. A mechanism knows nothing of greetings, of how frames are cut out of the
//! stream, or of what properties mean; it ends by handing over the peer's properties.
//!
//! PLAIN and CURVE are to be further variants of `Mechanism`, a file each beside `null`, with
//! client and server as their two roles.

pub(super) mod null;

use super::{command::Command, handshake::HandshakeError, metadata::Properties};
use null::Null;

/// A mechanism in progress.
#[derive(Clone, Debug)]
pub(super) enum Mechanism {
    /// No security: each side sends READY.
    Null(Null),
}

impl Mechanism {
    /// The name in the greeting.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Mechanism::Null(_) => null::NAME,
        }
    }

    /// The as-server flag in the greeting.
    pub(super) fn as_server(&self) -> bool {
        match self {
            Mechanism::Null(_) => false,
        }
    }

    /// The greetings agree: appends what we say unasked.
    pub(super) fn start(&mut self, outbox: &mut Vec<u8>) {
        match self {
            Mechanism::Null(null) => null.start(outbox),
        }
    }

    /// Takes a command other than ERROR and appends the answer; the peer's properties end the
    /// handshake, None waits for another command.
    pub(super) fn handle_command(
        &mut self,
        command: &Command<'_>,
        _outbox: &mut Vec<u8>,
    ) -> Result<Option<Properties>, HandshakeError> {
        match self {
            Mechanism::Null(null) => null.handle_command(command).map(Some),
        }
    }
}
