//! Counts messages by walking frame headers: nothing is decoded, and bodies are looked at by a [`Visitor`] only.
//!
//! The last message that a producer publishes is a marker, told by its size: a message that is not of the size that was
//! published is an error otherwise, so that a count is a count of whole messages.

use super::error::AmqpError;
use super::methods::{
    BASIC_CANCEL, BASIC_DELIVER, BODY, CHANNEL_CLOSE, CONNECTION_CLOSE, CONTENT_HEADER, FRAME_END,
    FRAME_HEADER_SIZE, FRAME_OVERHEAD, HEARTBEAT, METHOD, method_name,
};

/// The body of a marker; no case has messages of this size.
pub const MARKER: &[u8] = b"!";

/// Takes what a walk comes by.
pub trait Visitor {
    /// A message of the expected size, by its last frame of body.
    fn message(&mut self, body: &[u8]);
    /// A method that is neither a delivery nor the end.
    fn method(&mut self, id: u32, arguments: &[u8]) -> Result<(), AmqpError>;
}

/// The size of the frame that `bytes` begin with, if its header is there.
#[inline]
pub fn frame_size(bytes: &[u8]) -> Option<usize> {
    let header: &[u8; FRAME_HEADER_SIZE] = bytes.first_chunk()?;
    let size = u32::from_be_bytes([header[3], header[4], header[5], header[6]]);
    Some(size as usize + FRAME_OVERHEAD)
}

/// Where a walk is.
#[derive(Debug)]
pub struct Walk {
    body_size: u64,
    body_left: u64,
    is_marker: bool,
    /// Whole messages so far, markers not counted.
    pub message_count: u64,
    /// Markers so far.
    pub marker_count: u64,
}

impl Walk {
    /// Messages of this size are coming.
    pub fn new(body_size: u64) -> Self {
        Self { body_size, body_left: 0, is_marker: false, message_count: 0, marker_count: 0 }
    }

    /// Walks all whole frames of `bytes`. Returns how many bytes they have.
    #[inline]
    pub fn frames(&mut self, bytes: &[u8], visitor: &mut impl Visitor) -> Result<usize, AmqpError> {
        let mut at = 0;
        while let Some(size) = frame_size(&bytes[at..]) {
            let Some(frame) = bytes.get(at..at + size) else { break };
            let (payload, end) = (&frame[FRAME_HEADER_SIZE..size - 1], frame[size - 1]);
            if end != FRAME_END {
                return Err(AmqpError::Malformed("a frame without its end"));
            }
            match frame[0] {
                METHOD => self.method(payload, visitor)?,
                CONTENT_HEADER => self.header(payload)?,
                BODY => self.body(payload, visitor)?,
                HEARTBEAT => {}
                _ => return Err(AmqpError::Malformed("a frame of no known kind")),
            }
            at += size;
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
        if size != self.body_size {
            if size != MARKER.len() as u64 {
                return Err(AmqpError::Malformed("a message in another size than was published"));
            }
            self.is_marker = true;
        }
        self.body_left = size;
        Ok(())
    }

    #[inline]
    fn body(&mut self, payload: &[u8], visitor: &mut impl Visitor) -> Result<(), AmqpError> {
        let left = self.body_left.checked_sub(payload.len() as u64);
        self.body_left = left.ok_or(AmqpError::Malformed("more of a body than its header says"))?;
        if self.body_left > 0 {
            return Ok(());
        }
        if self.is_marker {
            self.is_marker = false;
            self.marker_count += 1;
        } else {
            self.message_count += 1;
            visitor.message(payload);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::encode::{Argument, push_content, push_method};
    use super::super::methods::{BASIC_ACK, BASIC_DELIVER, CHANNEL_CLOSE};
    use super::{AmqpError, MARKER, Visitor, Walk};

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
        push_content(out, 1, body, 4096);
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
}
