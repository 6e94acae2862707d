//! `Blame`: the side at fault for an error. It is not an error itself: every error enum of this crate has a method
//! `blame()`.
//!
//! - `escaped`: a peer's bytes as text for an error message: ASCII, one line, at most [`ESCAPED_SIZE_MAX`] long.

use std::ascii::escape_default;

/// The side at fault when a peer's bytes are rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The peer follows the protocol, but the two sides are incompatible: another version, mechanism, socket type or
    /// protocol, or the peer refused us. An operator has to change a configuration.
    PeerIncompatible,
    /// The peer broke the protocol that it claims to speak, or one of our limits.
    PeerMisbehaved,
}

/// The longest text that [`escaped`] returns, in bytes.
pub(crate) const ESCAPED_SIZE_MAX: usize = 255;

/// Returns `bytes` with everything but printable ASCII escaped, as in a Rust byte string.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for &byte in bytes {
        let escape = escape_default(byte);
        if text.len() + escape.len() > ESCAPED_SIZE_MAX {
            break;
        }
        text.extend(escape.map(char::from));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{ESCAPED_SIZE_MAX, escaped};

    #[test]
    fn printable_text_is_kept_and_the_rest_is_escaped() {
        assert_eq!(escaped(b"a b\r\n\x00\xff"), r"a b\r\n\x00\xff");
    }

    #[test]
    fn text_is_cut_at_the_limit_and_never_inside_an_escape() {
        assert_eq!(escaped(&[b'a'; ESCAPED_SIZE_MAX]).len(), ESCAPED_SIZE_MAX);
        assert_eq!(escaped(&[b'a'; ESCAPED_SIZE_MAX + 1]).len(), ESCAPED_SIZE_MAX);
        assert_eq!(escaped(&[0; 255]).len(), 63 * 4);
    }
}
