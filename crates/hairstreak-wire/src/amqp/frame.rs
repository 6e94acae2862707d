//! Frames: the parts of the byte stream of a connection, behind the protocol header.
//!
//! ```text
//!  type (1) | channel (2) | size of the payload (4) | payload | 0xCE
//! ```
//!
//! | header | from |
//! |---|---|
//! | `AMQP` 0 0 9 1 | clients of AMQP 0-9-1 |
//! | `AMQP` 1 1 0 9 | clients of AMQP 0-9, such as Perl's AnyEvent::RabbitMQ and Python's aioamqp, that speak 0-9-1 all the same |
//!
//! Invariants: a decoded frame is within the limit that applies, and its payload lies in the bytes that were given.

use super::reply_code::ReplyCode;
use crate::Blame;

/// The size of what goes before the payload, in bytes.
pub const FRAME_HEADER_SIZE: usize = 7;

/// The size of what is not payload, in bytes.
pub const FRAME_OVERHEAD: usize = 8;

/// The last byte of every frame.
pub const FRAME_END: u8 = 0xce;

/// The octets by which a frame may be larger than the two sides agreed on. Some clients count the payload alone, and RabbitMQ takes their frames.
pub const FRAME_SIZE_ALLOWANCE: usize = 8;

/// Every peer takes frames up to this size in bytes, whatever the two sides agree on.
pub const FRAME_SIZE_MIN: usize = 4096;

/// A whole heartbeat frame.
pub const HEARTBEAT_FRAME: [u8; FRAME_OVERHEAD] = [FrameKind::Heartbeat as u8, 0, 0, 0, 0, 0, 0, FRAME_END];

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// A method, see [`Method`](super::Method).
    Method = 1,
    /// The header of a content, see [`ContentHeader`](super::ContentHeader).
    Header = 2,
    /// A part of the body of a content.
    Body = 3,
    /// Nothing: the peer is alive.
    Heartbeat = 8,
}

/// A frame whose payload lies where it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The kind of the payload.
    pub kind: FrameKind,
    /// The number of the channel; 0 is the connection itself.
    pub channel: u16,
    /// The payload of the frame.
    pub payload: &'a [u8],
}

/// Why a frame was refused. The stream cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// No frame has that type.
    #[error("frame type {kind} is unknown")]
    UnknownKind {
        /// The first byte of the frame.
        kind: u8,
    },
    /// The frame is larger than the two sides agreed on.
    #[error("a frame with {size} bytes of payload is over the limit of {limit} for whole frames")]
    TooLarge {
        /// The size of the payload that the frame announces, in bytes.
        size: u32,
        /// The limit for whole frames, in bytes.
        limit: usize,
    },
    /// Another byte stands where the end of the frame belongs.
    #[error("a frame ends with {found:#04x}, not with {FRAME_END:#04x}")]
    BadEnd {
        /// The byte.
        found: u8,
    },
}

impl FrameError {
    /// The reply code of the close that answers the error.
    pub fn reply_code(&self) -> ReplyCode {
        ReplyCode::FrameError
    }

    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        Blame::PeerMisbehaved
    }
}

impl FrameKind {
    /// The kind with that number on the wire.
    #[inline(always)]
    pub const fn from_number(number: u8) -> Option<FrameKind> {
        match number {
            1 => Some(FrameKind::Method),
            2 => Some(FrameKind::Header),
            3 => Some(FrameKind::Body),
            8 => Some(FrameKind::Heartbeat),
            _ => None,
        }
    }
}

impl Frame<'_> {
    /// The size of the whole frame, in bytes.
    #[inline(always)]
    pub fn size(&self) -> usize {
        self.payload.len() + FRAME_OVERHEAD
    }
}

/// Decodes the frame at the start of `bytes`; None when more bytes are needed to do so. `frame_size_max` limits whole
/// frames, in bytes; [`FRAME_SIZE_ALLOWANCE`] is granted beyond it. A frame over the limit is refused as soon as its header is there, a wrong end or an
/// unknown type once the frame is whole: the outcome does not depend on the cuts of the stream.
#[inline]
pub fn decode_frame(bytes: &[u8], frame_size_max: usize) -> Result<Option<Frame<'_>>, FrameError> {
    let Some((&[kind, c1, c2, s1, s2, s3, s4], rest)) = bytes.split_first_chunk::<FRAME_HEADER_SIZE>() else {
        return Ok(None);
    };
    let size = u32::from_be_bytes([s1, s2, s3, s4]);
    check_frame_size(size, frame_size_max)?;
    match rest.split_at_checked(size as usize) {
        Some((payload, [FRAME_END, ..])) => match FrameKind::from_number(kind) {
            Some(kind) => Ok(Some(Frame { kind, channel: u16::from_be_bytes([c1, c2]), payload })),
            None => Err(FrameError::UnknownKind { kind }),
        },
        Some((_, [found, ..])) => Err(FrameError::BadEnd { found: *found }),
        _ => Ok(None),
    }
}

/// Checks the size of a payload that the header of a frame announces against the limit for whole frames.
///
/// Errors: the frame is over the limit.
#[inline(always)]
pub fn check_frame_size(size: u32, frame_size_max: usize) -> Result<(), FrameError> {
    let whole_size_max = (frame_size_max as u64).saturating_add(FRAME_SIZE_ALLOWANCE as u64);
    if u64::from(size) + FRAME_OVERHEAD as u64 > whole_size_max {
        return Err(FrameError::TooLarge { size, limit: frame_size_max });
    }
    Ok(())
}

/// The header of a frame whose payload has `size` bytes. [`FRAME_END`] belongs behind the payload.
#[inline(always)]
pub fn encode_frame_header(kind: FrameKind, channel: u16, size: u32) -> [u8; FRAME_HEADER_SIZE] {
    let ([c1, c2], [s1, s2, s3, s4]) = (channel.to_be_bytes(), size.to_be_bytes());
    [kind as u8, c1, c2, s1, s2, s3, s4]
}

/// Appends `body` as body frames of at most `frame_size_max` bytes each; no frame for an empty body.
///
/// `frame_size_max` is at least [`FRAME_SIZE_MIN`].
#[inline]
pub fn encode_body(channel: u16, body: &[u8], frame_size_max: usize, out: &mut Vec<u8>) {
    let payload_size_max = (frame_size_max.max(FRAME_SIZE_MIN) - FRAME_OVERHEAD).min(u32::MAX as usize);
    for payload in body.chunks(payload_size_max) {
        out.reserve(payload.len() + FRAME_OVERHEAD);
        out.extend_from_slice(&encode_frame_header(FrameKind::Body, channel, payload.len() as u32));
        out.extend_from_slice(payload);
        out.push(FRAME_END);
    }
}

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
