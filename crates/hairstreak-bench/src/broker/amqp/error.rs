//! Why a conversation with a broker cannot go on.

use std::io;

/// Why a conversation with a broker cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum AmqpError {
    /// The socket failed.
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    /// The broker closed the connection without a word.
    #[error("the broker ended the connection")]
    Ended,
    /// The broker closed the connection or the channel.
    #[error("the broker closed: {code} {text}")]
    Closed {
        /// The reply code.
        code: u16,
        /// The reply text.
        text: String,
    },
    /// The broker said something else than it had to.
    #[error("{found} came where {expected} was due")]
    Unexpected {
        /// The expected method or frame.
        expected: String,
        /// The received method or frame.
        found: String,
    },
    /// The bytes are not what the protocol says, or not what was published.
    #[error("the broker sent {0}")]
    Malformed(&'static str),
}

impl AmqpError {
    /// Reads the arguments of connection.close or channel.close.
    pub fn closed(arguments: &[u8]) -> AmqpError {
        let code = arguments.first_chunk().map_or(0, |bytes| u16::from_be_bytes(*bytes));
        let text = arguments.get(3..).unwrap_or_default();
        let size = usize::from(arguments.get(2).copied().unwrap_or(0)).min(text.len());
        AmqpError::Closed { code, text: String::from_utf8_lossy(&text[..size]).into_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::AmqpError;

    #[test]
    fn a_close_is_told_with_its_code_and_text() {
        let error = AmqpError::closed(b"\x01\x94\x04gone\x00\x32\x00\x0a");
        assert_eq!(error.to_string(), "the broker closed: 404 gone");
        assert_eq!(AmqpError::closed(b"").to_string(), "the broker closed: 0 ");
    }
}
