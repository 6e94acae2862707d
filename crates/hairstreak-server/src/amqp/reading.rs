//! `Reading`: a frame that is not taken whole.

/// What of a frame is here that is not taken whole.
#[derive(Debug, Default)]
pub(super) enum Reading {
    /// A frame begins.
    #[default]
    Start,
    /// Bytes of a long frame that is no body.
    Long(Vec<u8>),
    /// In a body frame of `channel`: `missing` bytes of the payload are to come, and then its end.
    Body { channel: u16, missing: usize },
}
