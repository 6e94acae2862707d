//! `Outbox`: where the effects of every machine of this crate go.
//!
//! Whoever drives a machine lends it an outbox in each `handle_...` call. The machine uses it at once and keeps nothing of it:
//!
//! ```text
//!   driver --- handle_message(now, ..., &mut outbox) ---> machine
//!                                                           |  outbox.send(peer, head, body)
//!   socket <------------------------------------------------+
//!          -----------------------------------------------> |  Sent: done, full, gone, never
//! ```
//!
//! - Bodies are borrowed, so that none is copied or owned on its way through a machine.
//! - The machine learns in the same call whether a peer has room, and decides there what happens otherwise.
//! - `attend` says which peers the machine depends on, so that the others cost the driver little.
//! - An effect whose outcome comes later returns nothing. Its outcome is one more event: a `handle_...` call.
//! - A machine with more kinds of effects than messages names them in a trait of its own, with `Outbox` as its supertrait:
//!   [`DirectoryOutbox`](crate::names::DirectoryOutbox).
//!
//! Invariant: an implementation never calls back into the machine, and never waits.

use hairstreak_base::Bytes;

/// The outcome of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The message is on its way.
    Done,
    /// The peer has no room for the message now.
    Full,
    /// There is no such peer.
    Gone,
    /// The message has more frames or bytes than a message may have.
    Never,
}

/// Takes messages to peers.
pub trait Outbox {
    /// Sends one message to the peer of this routing id: the frames of `head`, then those of `body`. Never waits.
    fn send(&mut self, peer: &[u8], head: &[&[u8]], body: &[Bytes]) -> Sent;

    /// Says whether the machine depends on the peer from now on: the peer works, or waits for something. The driver may ask
    /// other peers less often whether they are still there. A peer that has just connected is one of the others.
    fn attend(&mut self, _peer: &[u8], _is_attended: bool) {}
}
