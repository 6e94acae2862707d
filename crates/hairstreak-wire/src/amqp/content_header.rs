//! `ContentHeader`: the frame between a method that carries content and the body. The properties stay encoded.
//!
//! ```text
//! class (2) | weight (2), zero | size of the body (8) | properties
//! ```

use super::error::DecodeError;
use super::frame::{FRAME_END, FRAME_HEADER_SIZE, FRAME_OVERHEAD, FrameKind, encode_frame_header};

/// Size of the fields before the properties, in bytes.
pub const CONTENT_HEADER_SIZE: usize = 12;

/// Id of class basic, the only class with content.
pub const CLASS_BASIC: u16 = 60;

/// A decoded content header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentHeader<'a> {
    /// Class of the method before the header.
    pub class: u16,
    /// Size of the body that follows in body frames, in bytes.
    pub body_size: u64,
    /// The properties, encoded and unchecked; see [`Properties::decode`](super::Properties::decode).
    pub properties: &'a [u8],
}

impl<'a> ContentHeader<'a> {
    /// Decodes the payload of a header frame.
    #[inline]
    pub fn decode(payload: &'a [u8]) -> Result<ContentHeader<'a>, DecodeError> {
        let Some((fixed, properties)) = payload.split_first_chunk::<CONTENT_HEADER_SIZE>() else {
            return Err(DecodeError::ShortPayload { size: payload.len() });
        };
        let [c1, c2, w1, w2, size @ ..] = *fixed;
        let weight = u16::from_be_bytes([w1, w2]);
        if weight != 0 {
            return Err(DecodeError::Weight { weight });
        }
        Ok(ContentHeader {
            class: u16::from_be_bytes([c1, c2]),
            body_size: u64::from_be_bytes(size),
            properties,
        })
    }

    /// Appends a whole header frame.
    #[inline]
    pub fn encode(&self, channel: u16, out: &mut Vec<u8>) {
        let size = CONTENT_HEADER_SIZE + self.properties.len();
        let mut fixed = [0; FRAME_HEADER_SIZE + CONTENT_HEADER_SIZE];
        let (frame_header, content_header) = fixed.split_at_mut(FRAME_HEADER_SIZE);
        frame_header.copy_from_slice(&encode_frame_header(FrameKind::Header, channel, size as u32));
        content_header[..2].copy_from_slice(&self.class.to_be_bytes());
        content_header[4..].copy_from_slice(&self.body_size.to_be_bytes());
        out.reserve(size + FRAME_OVERHEAD);
        out.extend_from_slice(&fixed);
        out.extend_from_slice(self.properties);
        out.push(FRAME_END);
    }
}

/// Appends the header frame of a message: a content of class basic with encoded properties.
#[inline]
pub fn encode_content_header(channel: u16, body_size: u64, properties: &[u8], out: &mut Vec<u8>) {
    ContentHeader { class: CLASS_BASIC, body_size, properties }.encode(channel, out);
}
