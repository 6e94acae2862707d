//! The protocol header: the first bytes of a client, and a server's answer to any other.

use crate::Blame;

/// "AMQP", 0, and the version 0-9-1.
pub const PROTOCOL_HEADER: [u8; 8] = *b"AMQP\x00\x00\x09\x01";

/// The bytes are no header of AMQP 0-9-1. The server answers with [`PROTOCOL_HEADER`] and closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection does not begin with the header of AMQP 0-9-1")]
pub struct ProtocolHeaderError;

impl ProtocolHeaderError {
    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        Blame::PeerIncompatible
    }
}

/// Looks for the protocol header at the start of `bytes`. None when more bytes are needed; else how many bytes the
/// header takes. The first byte that differs is refused.
pub fn decode_protocol_header(bytes: &[u8]) -> Result<Option<usize>, ProtocolHeaderError> {
    let arrived = bytes.len().min(PROTOCOL_HEADER.len());
    if bytes[..arrived] != PROTOCOL_HEADER[..arrived] {
        return Err(ProtocolHeaderError);
    }
    Ok((arrived == PROTOCOL_HEADER.len()).then_some(arrived))
}
