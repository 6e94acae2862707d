//! The frame of a basic.ack, which has the same size for every message.
//!
//! ```text
//! header (7) | 0 60 0 80 | delivery tag (8) | multiple (1) | 0xCE
//! ```

use super::frame::{FRAME_END, FRAME_OVERHEAD, FrameKind, encode_frame_header};
use super::method::basic::Ack;

/// The size of the frame of a basic.ack, in bytes.
pub const ACK_FRAME_SIZE: usize = FRAME_OVERHEAD + PAYLOAD_SIZE;

const PAYLOAD_SIZE: usize = 4 + 8 + 1;

/// The whole frame of a basic.ack.
#[inline]
pub fn ack_frame(channel: u16, delivery_tag: u64, multiple: bool) -> [u8; ACK_FRAME_SIZE] {
    let mut frame = [FRAME_END; ACK_FRAME_SIZE];
    let (class, method) = Ack::ID;
    frame[..7].copy_from_slice(&encode_frame_header(FrameKind::Method, channel, PAYLOAD_SIZE as u32));
    frame[7..9].copy_from_slice(&class.to_be_bytes());
    frame[9..11].copy_from_slice(&method.to_be_bytes());
    frame[11..19].copy_from_slice(&delivery_tag.to_be_bytes());
    frame[19] = multiple.into();
    frame
}

/// Appends the frame of a basic.ack.
#[inline]
pub fn encode_ack(channel: u16, delivery_tag: u64, multiple: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(&ack_frame(channel, delivery_tag, multiple));
}
