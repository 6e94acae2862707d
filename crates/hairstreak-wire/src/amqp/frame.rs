//! Frames: the parts of a connection's byte stream behind the protocol header.
//!
//! ```text
//!  type (1) | channel (2) | size of the payload (4) | payload | 0xCE
//! ```
//!
//! | header | from |
//! |---|---|
//! | `AMQP` 0 0 9 1 | clients of AMQP 0-9-1 |
//! | `AMQP` 1 1 0 9 | clients of AMQP 0-9, such as Perl's AnyEvent::RabbitMQ and Python's aioamqp, which still speak 0-9-1 |
//!
//! Invariants: a decoded frame is within the limit that applies, and its payload borrows from the given bytes.

use super::reply_code::ReplyCode;
use crate::Blame;

/// Size of the header before the payload, in bytes.
pub const FRAME_HEADER_SIZE: usize = 7;

/// Size of a frame without its payload, in bytes.
pub const FRAME_OVERHEAD: usize = 8;

/// The last byte of every frame.
pub const FRAME_END: u8 = 0xce;

/// Number of octets by which a frame may exceed the agreed size. Some clients count the payload alone, and RabbitMQ
/// accepts their frames.
pub const FRAME_SIZE_ALLOWANCE: usize = 8;

/// Frame size in bytes that every peer accepts, independent of the agreed size.
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
    /// No payload: the peer is alive.
    Heartbeat = 8,
}

/// A frame whose payload borrows from the read buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The kind of the payload.
    pub kind: FrameKind,
    /// The number of the channel; 0 is the connection itself.
    pub channel: u16,
    /// The payload of the frame.
    pub payload: &'a [u8],
}

/// A frame is invalid. The rest of the stream cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The frame type is unknown.
    #[error("frame type {kind} is unknown")]
    UnknownKind {
        /// The first byte of the frame.
        kind: u8,
    },
    /// The frame is larger than the agreed size.
    #[error("a frame with {size} bytes of payload is over the limit of {limit} for whole frames")]
    TooLarge {
        /// The size of the payload that the frame announces, in bytes.
        size: u32,
        /// The limit for whole frames, in bytes.
        limit: usize,
    },
    /// The frame does not end with [`FRAME_END`].
    #[error("a frame ends with {found:#04x}, not with {FRAME_END:#04x}")]
    BadEnd {
        /// The byte.
        found: u8,
    },
}

impl FrameError {
    /// Returns the reply code of the close that answers the error.
    pub fn reply_code(&self) -> ReplyCode {
        ReplyCode::FrameError
    }

    /// Returns the side at fault.
    pub fn blame(&self) -> Blame {
        Blame::PeerMisbehaved
    }
}

impl FrameKind {
    /// Returns the kind with that number on the wire.
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
    /// Returns the size of the whole frame, in bytes.
    #[inline(always)]
    pub fn size(&self) -> usize {
        self.payload.len() + FRAME_OVERHEAD
    }
}

/// Decodes the frame at the start of `bytes`. `None` if the frame is incomplete. `frame_size_max` limits whole
/// frames, in bytes; [`FRAME_SIZE_ALLOWANCE`] is granted beyond it. An oversized frame is rejected once its header
/// has arrived, a wrong end or an unknown type once the frame is complete: the outcome does not depend on the cuts of
/// the stream.
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

/// Checks an announced payload size against the limit for whole frames.
///
/// Errors: the frame exceeds the limit.
#[inline(always)]
pub fn check_frame_size(size: u32, frame_size_max: usize) -> Result<(), FrameError> {
    let whole_size_max = (frame_size_max as u64).saturating_add(FRAME_SIZE_ALLOWANCE as u64);
    if u64::from(size) + FRAME_OVERHEAD as u64 > whole_size_max {
        return Err(FrameError::TooLarge { size, limit: frame_size_max });
    }
    Ok(())
}

/// Returns the header of a frame with a payload of `size` bytes. [`FRAME_END`] belongs behind the payload.
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

/// The bytes are neither a header of AMQP 0-9-1 nor of 0-9. The server answers with [`PROTOCOL_HEADER`] and closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection does not begin with the header of AMQP 0-9-1")]
pub struct ProtocolHeaderError;

impl ProtocolHeaderError {
    /// Returns the side at fault.
    pub fn blame(&self) -> Blame {
        Blame::PeerIncompatible
    }
}

/// Decodes the protocol header at the start of `bytes`, and returns its size. `None` if more bytes are needed. The
/// header of AMQP 0-9 is accepted as well, as in RabbitMQ. The first byte that differs from both is an error.
pub fn decode_protocol_header(bytes: &[u8]) -> Result<Option<usize>, ProtocolHeaderError> {
    let arrived = bytes.len().min(PROTOCOL_HEADER.len());
    let begins = |header: &[u8; 8]| bytes[..arrived] == header[..arrived];
    if !begins(&PROTOCOL_HEADER) && !begins(&PROTOCOL_HEADER_0_9) {
        return Err(ProtocolHeaderError);
    }
    Ok((arrived == PROTOCOL_HEADER.len()).then_some(arrived))
}
