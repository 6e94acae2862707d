//! `Reading`: a frame that is not taken whole.

/// The received part of a frame that has not come whole.
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
