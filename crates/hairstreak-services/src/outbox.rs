//! `Outbox`: the receiver of the effects of every machine of this crate.
//!
//! The driver of a machine lends it an outbox in each `handle_...` call. The machine uses the outbox during the call
//! and keeps no part of it:
//!
//! ```text
//!   driver --- handle_message(now, ..., &mut outbox) ---> machine
//!                                                           |  outbox.send(peer, head, body)
//!   socket <------------------------------------------------+
//!          -----------------------------------------------> |  Sent: done, full, gone, never
//! ```
//!
//! - Bodies are borrowed, so that none is copied or owned on its way through a machine.
//! - The machine learns in the same call whether a peer has room, and decides there about the alternative.
//! - `attend` names the peers that the machine depends on, so that the other peers cost the driver little.
//! - An effect with a later outcome returns no value. Its outcome is one more event: a `handle_...` call.
//! - A machine with more kinds of effects names them in its own trait, with `Outbox` as the supertrait:
//!   [`DirectoryOutbox`](crate::names::DirectoryOutbox).
//!
//! Invariant: an implementation never calls back into the machine, and never waits.

use hairstreak_base::Bytes;

/// Outcome of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The message is on its way.
    Done,
    /// The peer has no room for the message now.
    Full,
    /// The peer is not connected.
    Gone,
    /// The message has more frames or bytes than a message may have.
    Never,
}

/// Sink for messages to peers.
pub trait Outbox {
    /// Sends one message to the peer with this routing id: the frames of `head`, then the frames of `body`. Never
    /// waits.
    fn send(&mut self, peer: &[u8], head: &[&[u8]], body: &[Bytes]) -> Sent;

    /// Sets whether the machine depends on the peer from now on: the peer works, or waits for a result. The driver may
    /// check other peers for liveness less often. A peer that has just connected is one of the others.
    fn attend(&mut self, _peer: &[u8], _is_attended: bool) {}
}
