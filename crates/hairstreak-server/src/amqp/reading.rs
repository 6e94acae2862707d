//! `Reading`: a frame that is not taken whole; `Step`: what came of looking at what is here.

use super::fault::Fault;

/// How many bytes a step has used (0: more are needed, or the connection has to wait), and what went wrong on which channel.
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
