//! What a settled PUSH can be asked.

use std::time::{Duration, Instant};

use super::Refusal;
use crate::engine::State;
use crate::pipeline::PushPattern;
use crate::socket::Socket;

/// How many messages are where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsettled {
    /// Accepted by a send and not settled.
    pub count: u64,
    /// Of those, waiting for a receiver to be sent again.
    pub waiting_count: u64,
    /// Refusals lost because nobody took them in time.
    pub lost_refusals: u64,
}

impl Socket<PushPattern> {
    /// What is not settled now; nothing where settlement is not wanted.
    pub fn unsettled(&self) -> Unsettled {
        if self.handle.is_foreign() {
            return Unsettled::default();
        }
        let state = self.handle.engine.lock();
        let count = state.unsettled_count(self.handle.index);
        let backlog = state.sockets.get(self.handle.index).and_then(|socket| socket.backlog.as_ref());
        backlog.map_or(Unsettled::default(), |backlog| Unsettled {
            count,
            waiting_count: backlog.waiting_count(),
            lost_refusals: backlog.lost_refusals,
        })
    }

    /// Waits until everything that was sent is settled, `timeout` at most. Returns whether it is.
    pub fn wait_settled(&self, timeout: Duration) -> bool {
        if self.handle.is_foreign() {
            return false;
        }
        let (engine, index) = (&self.handle.engine, self.handle.index);
        let attempt = |state: &mut State| (state.unsettled_count(index) == 0).then_some(());
        let deadline = Instant::now().checked_add(timeout);
        engine.wait(engine.lock(), index, false, deadline, attempt).is_some()
    }

    /// The messages that receivers rejected, or that were sent too often, since the last call.
    pub fn take_refusals(&self) -> Vec<Refusal> {
        if self.handle.is_foreign() {
            return Vec::new();
        }
        let mut state = self.handle.engine.lock();
        let socket = state.sockets.get_mut(self.handle.index);
        socket
            .and_then(|socket| socket.backlog.as_mut())
            .map_or(Vec::new(), |backlog| backlog.take_refusals())
    }
}
