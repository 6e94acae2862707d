//! The protocol header: the first bytes of a client, and a server's answer to any other.
//!
//! | header | from |
//! |---|---|
//! | `AMQP` 0 0 9 1 | clients of AMQP 0-9-1 |
//! | `AMQP` 1 1 0 9 | clients of AMQP 0-9, such as Perl's AnyEvent::RabbitMQ and Python's aioamqp, that speak 0-9-1 all the same |

use crate::Blame;

/// "AMQP", 0, and the version 0-9-1.
pub const PROTOCOL_HEADER: [u8; 8] = *b"AMQP\x00\x00\x09\x01";

/// The header of AMQP 0-9.
pub const PROTOCOL_HEADER_0_9: [u8; 8] = *b"AMQP\x01\x01\x00\x09";

/// The bytes are no header of AMQP 0-9-1 or 0-9. The server answers with [`PROTOCOL_HEADER`] and closes.
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
/// header takes. The header of AMQP 0-9 is as good as the other, as in RabbitMQ. The first byte that differs from both is refused.
pub fn decode_protocol_header(bytes: &[u8]) -> Result<Option<usize>, ProtocolHeaderError> {
    let arrived = bytes.len().min(PROTOCOL_HEADER.len());
    let begins = |header: &[u8; 8]| bytes[..arrived] == header[..arrived];
    if !begins(&PROTOCOL_HEADER) && !begins(&PROTOCOL_HEADER_0_9) {
        return Err(ProtocolHeaderError);
    }
    Ok((arrived == PROTOCOL_HEADER.len()).then_some(arrived))
}
