//! `Effect`: what the directory wants done.

use hairstreak_wire::directory::{Envelope, Reply};

use super::{Change, Peer};

/// What whoever drives the directory has to do, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send a reply. A peer that has no room for it or is gone does not get it.
    Reply {
        /// To whom.
        peer: Peer,
        /// How its request began.
        envelope: Envelope,
        /// What to say.
        reply: Reply,
    },
    /// Nothing; an operator may like to know.
    Changed(Change),
}
