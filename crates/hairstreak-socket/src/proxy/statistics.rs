//! `ProxyStats`: what a proxy has moved.

/// What a proxy has moved since it was made.
///
/// All that was received was sent on, refused, or is in hand: frontend.received + backend.received =
/// frontend.sent + backend.sent + refused + in_hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProxyStats {
    /// Of the frontend.
    pub frontend: ProxyTraffic,
    /// Of the backend.
    pub backend: ProxyTraffic,
    /// Messages that the other end would not take at all: larger than it may send, for a peer that a mandatory
    /// ROUTER does not have, or a subscription over the limits of an XSUB.
    pub refused: u64,
    /// Messages received whose room was gone when they were to be sent: they are the first of the next run.
    pub in_hand: u64,
}

/// What has passed through one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProxyTraffic {
    /// Messages received from its peers.
    pub received: u64,
    /// Bytes of their frames.
    pub received_bytes: u64,
    /// Messages handed to its socket.
    pub sent: u64,
    /// Bytes of their frames.
    pub sent_bytes: u64,
}

impl ProxyStats {
    /// The eight numbers of libzmq, in its order.
    pub(super) fn numbers(&self) -> [u64; 8] {
        let [f, b] = [self.frontend, self.backend];
        [
            f.received,
            f.received_bytes,
            f.sent,
            f.sent_bytes,
            b.received,
            b.received_bytes,
            b.sent,
            b.sent_bytes,
        ]
    }
}
