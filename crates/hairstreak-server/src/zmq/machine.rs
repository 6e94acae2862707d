//! `Machine`: what a desk needs of a state machine that serves the peers of a ROUTER.

use std::time::Duration;

use hairstreak_base::Message;
use hairstreak_socket::PeerInfo;

use super::outbox::SocketOutbox;

/// A state machine that serves peers. Everything that it has to say goes to the outbox that it is lent.
///
/// `now` is the time since the desk began. A ROUTER tells of a peer's coming and going by a notice, an empty message, in order with
/// the messages of the same routing id:
///
/// ```text
/// coming | messages | going | coming | messages | going ...
/// ```
///
/// When the socket knows that a peer is gone and nothing of it is left, its going comes before any message of others that was
/// not received yet. A notice does not say which of the two it is: the desk looks who has the routing id by now.
pub(crate) trait Machine {
    /// A message came, its routing id in front.
    fn handle_message(&mut self, now: Duration, message: Message, out: &mut SocketOutbox);

    /// A notice came, and a peer has the routing id. The peer has connected, or the one before it is gone, or the notice is an
    /// empty message of the peer's own.
    fn handle_peer(&mut self, now: Duration, routing_id: &[u8], peer: &PeerInfo, out: &mut SocketOutbox);

    /// A notice came, and nobody has the routing id: the peer is gone. Messages of it may be left if it sent an empty one.
    fn handle_gone(&mut self, now: Duration, routing_id: &[u8], out: &mut SocketOutbox);

    /// Time has passed.
    fn handle_timeout(&mut self, now: Duration, out: &mut SocketOutbox);

    /// When `handle_timeout` is due though nothing happens; `None`: not at all.
    fn next_timeout(&self, now: Duration) -> Option<Duration>;

    /// Several events follow.
    fn begin_batch(&mut self) {}

    /// The events that were here have been handled.
    fn end_batch(&mut self, _now: Duration, _out: &mut SocketOutbox) {}
}
