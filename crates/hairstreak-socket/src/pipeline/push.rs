//! PUSH: each message to one connected PULL, in turn, skipping those without room; blocks when none
//! has room. Multi-frame messages are atomic. With `Distribution::All` every PULL gets a copy.

use hairstreak_wire::zmtp::SocketType;

use crate::pattern::{Pattern, Sends};
use crate::socket::Socket;

/// The sending end of a pipeline.
pub type Push = Socket<PushPattern>;

/// Marks a [`Push`].
#[derive(Debug)]
pub struct PushPattern;

impl Pattern for PushPattern {
    const SOCKET_TYPE: SocketType = SocketType::Push;
}

impl Sends for PushPattern {}
