//! `Turn`: what a connection works with while it has the lock of its virtual host.

use std::sync::Arc;

use hairstreak_base::{BlockPool, OutgoingBuffer};
use hairstreak_broker::vhost::ConnectionId;
use hairstreak_wire::amqp::Method;

use super::encoding::push_method;
use super::outlets::Taken;
use super::shared_host::HostState;

/// One turn of a connection in its virtual host.
pub(super) struct Turn<'a> {
    pub state: &'a mut HostState,
    /// The connection's own output.
    pub output: &'a mut OutgoingBuffer,
    /// The memory of long bodies.
    pub pool: &'a Arc<BlockPool>,
    pub connection: ConnectionId,
    /// In the node's milliseconds.
    pub now: u64,
    /// The most bytes of a body in one frame.
    pub frame_body_max: usize,
}

impl Turn<'_> {
    /// Puts a method into the output.
    pub fn reply(&mut self, channel: u16, method: &Method<'_>) {
        push_method(self.output, channel, method);
    }

    /// Moves deliveries that wait into the output, so that what is put there next comes behind them.
    pub fn take_deliveries(&mut self) -> Taken {
        self.state.outlets.take(self.connection, self.output)
    }
}
