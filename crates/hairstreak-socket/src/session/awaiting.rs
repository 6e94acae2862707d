//! How far the bytes of a session reach, and how far the application has taken them: for the age of what waits.

use hairstreak_wire::zmtp::frame;

use super::zmtp::{Phase, Session};

impl Session {
    /// Whether messages were read ahead of the application.
    pub fn has_ahead(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// Whether anything has come that the application has not taken.
    pub fn has_unread(&self) -> bool {
        !self.ahead.is_empty() || !self.connection.input.unread().is_empty()
    }

    /// Where the messages that are decoded end, among all bytes that have come.
    pub(super) fn decoded_position(&self) -> u64 {
        self.read_bytes_before + self.connection.read_bytes() - self.connection.input.unread().len() as u64
    }

    /// How far what has come reaches, and where the part that waits for the application begins; both count the byte
    /// before the first. None waits unless it is whole: the first is taken to begin at its last byte.
    pub fn positions_in(&self) -> (u64, u64) {
        let decoded = self.decoded_position();
        let came = decoded + self.connection.input.unread().len() as u64 + 1;
        let end = match self.ahead.front() {
            Some((_, _, end)) => Some(*end),
            None => self.next_message_size().map(|size| decoded + size as u64),
        };
        (came, end.unwrap_or(came))
    }

    /// The bytes of the next message, if it lies whole in the read buffer. Where a sealed one ends only who opens it
    /// knows.
    fn next_message_size(&self) -> Option<usize> {
        if self.ended || self.phase != Phase::Ready {
            return None;
        }
        let unread = self.connection.input.unread();
        if self.limits.is_plain {
            return Some(unread.len()).filter(|size| *size > 0);
        }
        if self.body.is_some() || self.cipher.is_some() {
            return None;
        }
        let mut at = 0;
        loop {
            let header = frame::decode_header(&unread[at..], usize::MAX).ok()??;
            at = at.checked_add(header.header_size)?.checked_add(header.body_size)?;
            if at > unread.len() {
                return None;
            }
            if !header.more && !header.command {
                return Some(at);
            }
        }
    }
}
