//! ROUTER: what it receives begins with a frame that names the peer, what it sends must.
//!
//! The name is the peer's routing id if it announced one that is free, else five bytes: 0 and a
//! number. A message for an unknown peer is refused (`SendError::Unroutable`), never lost in silence.

use hairstreak_wire::zmtp::SocketType;

use crate::pattern::{Pattern, Receives, Sends};
use crate::socket::Socket;

/// An asynchronous server that addresses each peer.
pub type Router = Socket<RouterPattern>;

/// Marks a [`Router`].
#[derive(Debug)]
pub struct RouterPattern;

impl Pattern for RouterPattern {
    const SOCKET_TYPE: SocketType = SocketType::Router;
}

impl Sends for RouterPattern {}
impl Receives for RouterPattern {}
