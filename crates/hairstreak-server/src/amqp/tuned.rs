//! `Tuned`: the limits that both sides agreed on.

use std::time::Duration;

use hairstreak_wire::amqp::{FRAME_OVERHEAD, FRAME_SIZE_MIN};

/// The limits that both sides agreed on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuned {
    pub channel_max: u16,
    /// Header and end included.
    pub frame_size_max: usize,
    /// None: no heartbeats.
    pub heartbeat: Option<Duration>,
}

impl Tuned {
    /// The limits before the client and the server have agreed.
    pub const BEFORE: Tuned = Tuned { channel_max: 0, frame_size_max: FRAME_SIZE_MIN, heartbeat: None };

    /// The most bytes of a body in one frame.
    pub fn frame_body_max(&self) -> usize {
        self.frame_size_max - FRAME_OVERHEAD
    }
}
