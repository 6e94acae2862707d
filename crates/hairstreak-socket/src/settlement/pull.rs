//! Receiving messages that are settled by hand.

use std::time::{Duration, Instant};

use hairstreak_wire::settlement::Outcome;

use super::Delivery;
use crate::engine::State;
use crate::errors::RecvError;
use crate::pipeline::PullPattern;
use crate::socket::Socket;

impl Socket<PullPattern> {
    /// The next message, with what names and settles it, waiting at most `timeout`. For
    /// [`Settling::ByHand`](super::Settling::ByHand).
    pub fn recv_delivery(&self, timeout: Duration) -> Result<Delivery, RecvError> {
        let handle = &*self.handle;
        if handle.is_foreign() {
            return Err(RecvError::Forked);
        }
        let deadline = Instant::now().checked_add(timeout);
        let attempt = |state: &mut State| match state.receive_delivery(&handle.engine, handle.index) {
            Some(delivery) => Some(Ok(delivery)),
            None => {
                let is_closed = state.sockets.get(handle.index).is_none_or(|socket| socket.closed);
                is_closed.then_some(Err(RecvError::Closed))
            }
        };
        let mut state = handle.engine.lock();
        state.begin_to_receive(&handle.engine, handle.index);
        handle.engine.wait(state, handle.index, true, deadline, attempt).unwrap_or(Err(RecvError::TimedOut))
    }

    /// The message was dealt with. False: it was settled before, or its connection is over and its sender gives it to
    /// another.
    pub fn accept(&self, delivery: &Delivery) -> bool {
        self.settle(delivery, Outcome::Accepted, b"")
    }

    /// The message was not dealt with: its sender gives it to another receiver, or to this one again. Returns as
    /// [`Socket::accept`].
    pub fn release(&self, delivery: &Delivery) -> bool {
        self.settle(delivery, Outcome::Released, b"")
    }

    /// The message cannot be dealt with, for this reason (255 bytes of it): its sender gives it to nobody. Returns as
    /// [`Socket::accept`].
    pub fn reject(&self, delivery: &Delivery, reason: &str) -> bool {
        self.settle(delivery, Outcome::Rejected, reason.as_bytes())
    }

    fn settle(&self, delivery: &Delivery, outcome: Outcome, reason: &[u8]) -> bool {
        let handle = &*self.handle;
        if handle.is_foreign() {
            return false;
        }
        let mut state = handle.engine.lock();
        let is_settled = state.settle_by_hand(&handle.engine, handle.index, delivery.mark, outcome, reason);
        handle.engine.after_call(state, Some(handle.index));
        is_settled
    }
}
