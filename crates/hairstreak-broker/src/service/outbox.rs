//! `Outbox`: where the broker's effects go, at once and borrowed, so that no body is copied on its way through.

use hairstreak_base::Frame;

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is on its way.
    Done,
    /// The peer has no room for it now.
    Full,
    /// There is no such peer.
    Gone,
    /// It has more frames or bytes than a message may have.
    Never,
}

/// Takes messages to peers.
pub trait Outbox {
    /// Sends one message to the peer of this routing id: the frames of `head`, then those of `body`. Never waits.
    fn send(&mut self, peer: &[u8], head: &[&[u8]], body: &[Frame]) -> Sent;
}
