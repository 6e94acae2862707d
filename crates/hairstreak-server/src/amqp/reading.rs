//! `Reading`: a frame that is not taken whole.

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
