//! Bytes from a broker: a large buffer that one read fills, a walk that counts messages, and errors.
//!
//! An incomplete frame moves to the front of the buffer before the next read, so that frames lie in one piece. A walk
//! goes by frame headers: nothing is decoded, and only a [`Visitor`] looks at bodies. The last message of a producer is
//! a marker, recognised by its size. A message of another size than was published is an error, so that a count is a
//! count of whole messages.

use std::io::{self, ErrorKind, Read};
use std::time::Duration;

use hairstreak_wire::amqp::{DecodeError, FrameError, FrameKind, decode_frame};

use super::methods::*;

/// Larger than any frame, and small enough for a cache.
const SIZE: usize = 256 * 1024;
/// The longest wait for a broker that neither sends nor takes bytes.
pub const SILENCE_MAX: Duration = Duration::from_secs(60);

/// The end of a conversation with a broker.
#[derive(Debug, thiserror::Error)]
pub enum AmqpError {
    /// The socket failed.
    #[error("the connection failed")]
    Io(#[source] io::Error),
    /// A read or a write took longer than the socket may wait, which is no time for a socket that does not block.
    #[error("the broker neither sends nor takes bytes for {} s", SILENCE_MAX.as_secs())]
    Silent,
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
    /// A method or a frame that is not due.
    #[error("{found} came where {expected} was due")]
    Unexpected {
        /// The expected method or frame.
        expected: String,
        /// The received method or frame.
        found: String,
    },
    /// The bytes violate the protocol, or differ from the published messages.
    #[error("the broker sent {0}")]
    Malformed(&'static str),
    /// A frame violates the protocol.
    #[error("the broker sent a malformed frame")]
    Frame(#[from] FrameError),
    /// A method violates the protocol.
    #[error("the broker sent a malformed method")]
    Decode(#[from] DecodeError),
    /// A refusal, or a confirm of a message that was not published, or was confirmed.
    #[error("the broker {0}")]
    Confirm(String),
}

impl From<io::Error> for AmqpError {
    fn from(error: io::Error) -> AmqpError {
        match error.kind() {
            ErrorKind::WouldBlock => AmqpError::Silent,
            _ => AmqpError::Io(error),
        }
    }
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

/// The size of the frame that `bytes` begin with, if its header is there.
#[inline]
pub fn frame_size(bytes: &[u8]) -> Option<usize> {
    let header: &[u8; FRAME_HEADER_SIZE] = bytes.first_chunk()?;
    let size = u32::from_be_bytes([header[3], header[4], header[5], header[6]]);
    Some(size as usize + FRAME_OVERHEAD)
}

/// Received bytes that are not consumed.
#[derive(Debug)]
pub struct ReadBuffer {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl ReadBuffer {
    /// An empty buffer.
    pub fn new() -> Self {
        Self::with_size(SIZE)
    }

    /// An empty buffer for `size` bytes.
    pub fn with_size(size: usize) -> Self {
        Self { bytes: vec![0; size].into_boxed_slice(), start: 0, end: 0 }
    }

    /// The bytes that were read and not consumed.
    pub fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Drops the first `size` unread bytes.
    pub fn consume(&mut self, size: usize) {
        self.start += size;
    }

    /// Reads once.
    pub fn fill(&mut self, source: &mut impl Read) -> Result<(), AmqpError> {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.bytes.len() {
            return Err(AmqpError::Malformed("a frame that is larger than it may be"));
        }
        match source.read(&mut self.bytes[self.end..])? {
            0 => Err(AmqpError::Ended),
            size => {
                self.end += size;
                Ok(())
            }
        }
    }
}

/// The body of a marker; no case has messages of this size.
pub const MARKER: &[u8] = b"!";

/// Sees the frames of a walk. `()` ignores all of them.
pub trait Visitor {
    /// A message of the expected size, by its last frame of body.
    #[inline]
    fn message(&mut self, _body: &[u8]) {}

    /// A method that is neither a delivery nor the end.
    fn method(&mut self, _id: u32, _arguments: &[u8]) -> Result<(), AmqpError> {
        Ok(())
    }
}

impl Visitor for () {}

/// The state of a walk.
#[derive(Debug)]
pub struct Walk {
    body_size: u64,
    /// The size of the message under way, and the bytes of its body that are still to come.
    size: u64,
    body_left: u64,
    /// Whole messages so far, markers not counted.
    pub message_count: u64,
    /// Markers so far.
    pub marker_count: u64,
}

impl Walk {
    /// A walk through messages of this size.
    pub fn new(body_size: u64) -> Self {
        Self { body_size, size: 0, body_left: 0, message_count: 0, marker_count: 0 }
    }

    /// Walks all whole frames of `bytes`. Returns their size.
    #[inline]
    pub fn frames(&mut self, bytes: &[u8], visitor: &mut impl Visitor) -> Result<usize, AmqpError> {
        let mut at = 0;
        while let Some(frame) = decode_frame(&bytes[at..], FRAME_SIZE_MAX)? {
            match frame.kind {
                FrameKind::Method => self.method(frame.payload, visitor)?,
                FrameKind::Header => self.header(frame.payload)?,
                FrameKind::Body => self.body(frame.payload, visitor)?,
                FrameKind::Heartbeat => {}
            }
            at += frame.size();
        }
        Ok(at)
    }

    #[inline]
    fn method(&mut self, payload: &[u8], visitor: &mut impl Visitor) -> Result<(), AmqpError> {
        let Some((id, arguments)) = payload.split_first_chunk() else {
            return Err(AmqpError::Malformed("a method without its number"));
        };
        match u32::from_be_bytes(*id) {
            BASIC_DELIVER => Ok(()),
            CONNECTION_CLOSE | CHANNEL_CLOSE => Err(AmqpError::closed(arguments)),
            id @ BASIC_CANCEL => {
                Err(AmqpError::Unexpected { expected: "a delivery".to_owned(), found: method_name(id) })
            }
            id => visitor.method(id, arguments),
        }
    }

    #[inline]
    fn header(&mut self, payload: &[u8]) -> Result<(), AmqpError> {
        let size = payload.get(4..12).and_then(|bytes| bytes.first_chunk());
        let size = u64::from_be_bytes(*size.ok_or(AmqpError::Malformed("half a content header"))?);
        if size != self.body_size && size != MARKER.len() as u64 {
            return Err(AmqpError::Malformed("a message in another size than was published"));
        }
        (self.size, self.body_left) = (size, size);
        Ok(())
    }

    #[inline]
    fn body(&mut self, payload: &[u8], visitor: &mut impl Visitor) -> Result<(), AmqpError> {
        let left = self.body_left.checked_sub(payload.len() as u64);
        self.body_left = left.ok_or(AmqpError::Malformed("more of a body than its header says"))?;
        if self.body_left > 0 {
            return Ok(());
        }
        if self.size == self.body_size {
            self.message_count += 1;
            visitor.message(payload);
        } else {
            self.marker_count += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use hairstreak_wire::amqp::encode_content_header;

    use super::super::encode::{Argument, NO_PROPERTIES, push_body, push_method};
    use super::*;

    #[derive(Default)]
    struct Seen {
        bodies: Vec<Vec<u8>>,
        methods: Vec<u32>,
    }

    impl Visitor for Seen {
        fn message(&mut self, body: &[u8]) {
            self.bodies.push(body.to_vec());
        }

        fn method(&mut self, id: u32, _: &[u8]) -> Result<(), AmqpError> {
            self.methods.push(id);
            Ok(())
        }
    }

    fn deliver(out: &mut Vec<u8>, body: &[u8]) {
        push_method(out, 1, BASIC_DELIVER, &[Argument::Short("tag"), Argument::U64(1), Argument::U8(0)]);
        encode_content_header(1, body.len() as u64, NO_PROPERTIES, out);
        push_body(out, 1, &[], body, 4096);
    }

    #[test]
    fn messages_are_counted_wherever_reads_cut_them() {
        let mut bytes = Vec::new();
        [b"abcd", b"efgh"].iter().for_each(|body| deliver(&mut bytes, *body));
        push_method(&mut bytes, 1, BASIC_ACK, &[Argument::U64(1), Argument::U8(1)]);
        deliver(&mut bytes, MARKER);
        for cut in 0..bytes.len() {
            let (mut walk, mut seen) = (Walk::new(4), Seen::default());
            let consumed = walk.frames(&bytes[..cut], &mut seen).unwrap();
            let rest = walk.frames(&bytes[consumed..], &mut seen).unwrap();
            assert_eq!(consumed + rest, bytes.len());
            assert_eq!((walk.message_count, walk.marker_count), (2, 1), "{cut}");
            assert_eq!((seen.bodies.concat(), seen.methods.len()), (b"abcdefgh".to_vec(), 1));
        }
    }

    #[test]
    fn a_body_in_several_frames_is_one_message() {
        let mut bytes = Vec::new();
        deliver(&mut bytes, &[7; 10_000]);
        let mut walk = Walk::new(10_000);
        assert_eq!(walk.frames(&bytes, &mut Seen::default()).unwrap(), bytes.len());
        assert_eq!(walk.message_count, 1);
    }

    #[test]
    fn what_was_not_published_or_ends_the_channel_is_an_error() {
        let mut bytes = Vec::new();
        deliver(&mut bytes, b"abc");
        assert!(matches!(Walk::new(4).frames(&bytes, &mut Seen::default()), Err(AmqpError::Malformed(_))));
        bytes.clear();
        push_method(&mut bytes, 1, CHANNEL_CLOSE, &[Argument::U16(404), Argument::Short("NOT_FOUND")]);
        let error = Walk::new(4).frames(&bytes, &mut Seen::default()).unwrap_err();
        assert_eq!(error.to_string(), "the broker closed: 404 NOT_FOUND");
    }

    #[test]
    fn what_is_left_moves_to_the_front() {
        let mut buffer = ReadBuffer::with_size(8);
        buffer.fill(&mut &b"abcdef"[..]).unwrap();
        buffer.consume(4);
        buffer.fill(&mut &b"ghijklmn"[..]).unwrap();
        assert_eq!(buffer.unread(), b"efghijkl");
        let full = buffer.fill(&mut &b"m"[..]);
        assert!(matches!(full, Err(AmqpError::Malformed(_))));
        buffer.consume(8);
        assert!(matches!(buffer.fill(&mut &b""[..]), Err(AmqpError::Ended)));
    }

    #[test]
    fn a_close_is_told_with_its_code_and_text() {
        let error = AmqpError::closed(b"\x01\x94\x04gone\x00\x32\x00\x0a");
        assert_eq!(error.to_string(), "the broker closed: 404 gone");
        assert_eq!(AmqpError::closed(b"").to_string(), "the broker closed: 0 ");
    }
}
