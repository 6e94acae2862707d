//! `Reading`: a partly received frame; `Step`: the result of handling received bytes.

use hairstreak_base::READ_SIZE;
use hairstreak_wire::amqp::FRAME_OVERHEAD;

use super::fault::Fault;

/// Number of bytes that a step has used, and the fault with its channel. With 0, more bytes are needed or the connection has to
/// wait.
pub(super) type Step = (usize, Result<(), (Fault, u16)>);

/// The received part of a frame that has not come whole.
#[derive(Debug, Default)]
pub(super) enum Reading {
    /// A frame begins.
    #[default]
    Start,
    /// Bytes of a long frame that is no body.
    Long(Vec<u8>),
    /// In a body frame.
    Body(BodyFrame),
    /// In a frame that is parked: `missing` bytes are to come.
    Parked { missing: usize },
}

/// A body frame whose header was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyFrame {
    pub channel: u16,
    /// The place of the frame's payload in the body.
    pub begins_at: u64,
    /// Bytes of the payload that are to come. The end of the frame comes behind them.
    pub missing: usize,
}

impl Reading {
    /// Begins to gather a frame that does not fit the read buffer. Returns the number of bytes that are used.
    pub fn begin_long(&mut self, bytes: &[u8]) -> usize {
        if bytes.len() < READ_SIZE {
            return 0;
        }
        *self = Reading::Long(bytes.to_vec());
        bytes.len()
    }

    /// Returns the number of bytes that are to come of the frame that has begun.
    pub fn missing_bytes(&self) -> usize {
        match self {
            Reading::Start => 0,
            Reading::Body(frame) => frame.missing + 1,
            Reading::Long(gathered) => whole_size(gathered).saturating_sub(gathered.len()),
            Reading::Parked { missing } => *missing,
        }
    }
}

/// Returns the size of the whole frame whose header is at the start of `bytes`.
pub(super) fn whole_size(bytes: &[u8]) -> usize {
    let Some(&[_, _, _, s0, s1, s2, s3]) = bytes.first_chunk() else { return 0 };
    u32::from_be_bytes([s0, s1, s2, s3]) as usize + FRAME_OVERHEAD
}
