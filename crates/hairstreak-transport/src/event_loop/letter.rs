//! `Letter`: what a loop is handed by the other loops and by other threads.

use super::address::Address;
use super::listening::Listening;
use crate::stream::Stream;

/// What a loop is handed: `P` is the type of the protocols, `M` of their mail.
pub(super) enum Letter<P, M> {
    /// Mail for a connection.
    Mail { to: Address, mail: M },
    /// Held output of a connection may leave.
    Release { to: Address, ticket: u64 },
    /// A connection to own.
    Adopt { stream: Stream, protocol: Box<P> },
    /// A listener to accept from.
    Listen(Listening<P>),
    /// Every connection is to end.
    Stop,
}
