//! The header of a frame: the size and the type of the body that follows.
//!
//! ```text
//!         7 6 5 4 3   2       1     0
//!        +-----------+-------+-----+------+
//! byte 0 | 0 0 0 0 0 |COMMAND| LONG| MORE |
//!        +-----------+-------+-----+------+
//!  LONG=0:  byte 1      body size, 0 to 255
//!  LONG=1:  bytes 1-8   body size, big endian
//! ```
//!
//! Bodies are not touched here: they stay in the caller's buffer.
//!
//! Invariants: a decoded `body_size` is within the limit that applies and fits an `isize`; no header
//! is both MORE and COMMAND. A LONG header with a size below 256 is decoded (libzmq does too) and
//! never encoded.

use hairstreak_base::{FrameShape, Framing, Header};

use crate::Blame;

const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

/// The size of the shortest header, in bytes.
pub const SHORT_HEADER_SIZE: usize = 2;

/// The size of the longest header, in bytes.
pub const HEADER_SIZE_MAX: usize = 9;

/// The largest body with a header of two bytes; a larger one has the longest header.
pub const SHORT_BODY_SIZE_MAX: usize = 255;

/// Largest body of a command frame, in bytes. Commands have a limit of their own: a small limit for messages does not
/// forbid a PING, and a large one does not allow a command of that size.
pub const COMMAND_SIZE_MAX: usize = 64 * 1024;

/// A decoded header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Another frame of the same message follows.
    pub more: bool,
    /// The body is a command, see [`super::command::parse`].
    pub command: bool,
    /// Size of the header itself in bytes: 2 or 9.
    pub header_size: usize,
    /// Size of the body behind the header, in bytes.
    pub body_size: usize,
}

/// A header is invalid. The rest of the stream cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A flag that ZMTP 3 reserves is set.
    #[error("frame header {flags:#04x} sets reserved flags")]
    ReservedFlags {
        /// The first byte of the header.
        flags: u8,
    },
    /// COMMAND and MORE are both set, but a command is always one frame.
    #[error("frame header {flags:#04x} announces a command of several frames")]
    CommandWithMore {
        /// The first byte of the header.
        flags: u8,
    },
    /// The body is larger than the given limit.
    #[error("frame of {size} bytes is over the limit of {limit}")]
    TooLarge {
        /// The size that the header announces, in bytes.
        size: u64,
        /// The limit that applies, in bytes.
        limit: usize,
    },
}

impl FrameError {
    /// Returns the side at fault.
    pub fn blame(&self) -> Blame {
        Blame::PeerMisbehaved
    }
}

/// Decodes the header at the start of `bytes`. `None` if more bytes are needed.
///
/// `body_size_max` limits the frames of messages; commands are limited to [`COMMAND_SIZE_MAX`]. A bad flags byte is
/// rejected as soon as it arrives.
#[inline]
pub fn decode_header(bytes: &[u8], body_size_max: usize) -> Result<Option<FrameHeader>, FrameError> {
    if let [flags @ (0 | MORE), size, ..] = *bytes
        && usize::from(size) <= body_size_max
    {
        return Ok(Some(FrameHeader {
            more: flags == MORE,
            command: false,
            header_size: SHORT_HEADER_SIZE,
            body_size: usize::from(size),
        }));
    }
    decode_any_header(bytes, body_size_max)
}

fn decode_any_header(bytes: &[u8], body_size_max: usize) -> Result<Option<FrameHeader>, FrameError> {
    let Some((&flags, rest)) = bytes.split_first() else {
        return Ok(None);
    };
    if flags & !(MORE | LONG | COMMAND) != 0 {
        return Err(FrameError::ReservedFlags { flags });
    }
    let (more, command) = (flags & MORE != 0, flags & COMMAND != 0);
    if more && command {
        return Err(FrameError::CommandWithMore { flags });
    }
    let (header_size, size) = if flags & LONG == 0 {
        let Some(&size) = rest.first() else { return Ok(None) };
        (SHORT_HEADER_SIZE, u64::from(size))
    } else {
        let Some(size) = rest.first_chunk() else { return Ok(None) };
        (HEADER_SIZE_MAX, u64::from_be_bytes(*size))
    };
    let limit = if command { COMMAND_SIZE_MAX } else { body_size_max.min(isize::MAX as usize) };
    match usize::try_from(size) {
        Ok(body_size) if body_size <= limit => {
            Ok(Some(FrameHeader { more, command, header_size, body_size }))
        }
        _ => Err(FrameError::TooLarge { size, limit }),
    }
}

/// Writes a header to the start of `out` and returns its size, 2 or 9 (exactly when `body_size` is
/// over 255).
#[inline]
pub fn encode_header(out: &mut [u8; HEADER_SIZE_MAX], more: bool, command: bool, body_size: usize) -> usize {
    debug_assert!(!(more && command), "a command is always one frame");
    let flags = if more { MORE } else { 0 } | if command { COMMAND } else { 0 };
    if let Ok(size) = u8::try_from(body_size) {
        out[..SHORT_HEADER_SIZE].copy_from_slice(&short_header(size));
        out[0] = flags;
        SHORT_HEADER_SIZE
    } else {
        out[0] = flags | LONG;
        out[1..].copy_from_slice(&(body_size as u64).to_be_bytes());
        HEADER_SIZE_MAX
    }
}

/// Returns the header of a message of one frame whose body has at most 255 bytes.
#[inline(always)]
pub fn short_header(body_size: u8) -> [u8; SHORT_HEADER_SIZE] {
    [0, body_size]
}

/// ZMTP's framing, for the buffers.
#[derive(Clone, Copy, Debug)]
pub struct ZmtpFraming;

impl Framing for ZmtpFraming {
    #[inline(always)]
    fn single(bytes: &[u8]) -> Option<Header> {
        match bytes {
            [0, size, ..] => Some(Header { size: SHORT_HEADER_SIZE, body_size: usize::from(*size) }),
            [LONG, rest @ ..] => {
                let body_size = u64::from_be_bytes(*rest.first_chunk()?);
                Some(Header { size: HEADER_SIZE_MAX, body_size: usize::try_from(body_size).ok()? })
            }
            _ => None,
        }
    }

    fn shape(bytes: &[u8]) -> Option<FrameShape> {
        let header = decode_header(bytes, usize::MAX).ok().flatten()?;
        let size = header.header_size + header.body_size;
        Some(FrameShape { size, is_command: header.command, ends_message: !header.more })
    }
}
