//! Receiving messages that are settled by hand.

use std::time::{Duration, Instant};

use hairstreak_base::Message;
use hairstreak_wire::settlement::Outcome;

use super::{Batch, Delivery, DeliveryMark, TaskId};
use crate::engine::State;
use crate::errors::RecvError;
use crate::pipeline::PullPattern;
use crate::socket::Socket;

impl Socket<PullPattern> {
    /// The next message, with what names and settles it, waiting at most `timeout`. For
    /// [`Settling::ByHand`](super::Settling::ByHand).
    pub fn recv_delivery(&self, timeout: Duration) -> Result<Delivery, RecvError> {
        let handle = &*self.handle;
        if handle.is_forked() {
            return Err(RecvError::Forked);
        }
        let deadline = Instant::now().checked_add(timeout);
        let attempt = |state: &mut State| match state.receive_delivery(&handle.engine, handle.index) {
            Some(delivery) => Some(Ok(delivery)),
            None => state.why_nothing_follows(handle.index).map(Err),
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

    /// Messages of one peer that are here, at most `max`, appended to `into`, waiting for the first at most `timeout`; and
    /// what names and settles them. For [`Settling::ByHand`](super::Settling::ByHand).
    pub fn recv_batch(
        &self,
        into: &mut Vec<Message>,
        max: usize,
        timeout: Duration,
    ) -> Result<Batch, RecvError> {
        let handle = &*self.handle;
        if handle.is_forked() {
            return Err(RecvError::Forked);
        }
        let deadline = Instant::now().checked_add(timeout);
        let attempt = |state: &mut State| match state.receive_batch(&handle.engine, handle.index, into, max) {
            Some(batch) => Some(Ok(batch)),
            None => state.why_nothing_follows(handle.index).map(Err),
        };
        let mut state = handle.engine.lock();
        state.begin_to_receive(&handle.engine, handle.index);
        let result = handle.engine.wait(state, handle.index, true, deadline, attempt);
        result.unwrap_or(Err(RecvError::TimedOut))
    }

    /// Asks the senders, those that connect later too, for nothing new. What is under way still comes, and behind the
    /// last of it [`RecvError::Ended`].
    pub fn drain(&self) {
        let handle = &*self.handle;
        if !handle.is_forked() {
            handle.engine.lock().drain(&handle.engine, handle.index);
        }
    }

    /// Whether a sender that is connected, or the last one that was, has said that no message follows.
    pub fn has_heard_end(&self) -> bool {
        let handle = &*self.handle;
        !handle.is_forked() && handle.engine.lock().has_heard_end(handle.index)
    }

    /// Tells the connected senders that tasks are done, `count` in sequence from the first of each, whichever way they came
    /// here: they free them at once, and need not wait for each settlement to pass through those in between. For a socket
    /// with [`Settlement::credit_count`](super::Settlement::credit_count) 0, which receives nothing. Returns whether a sender
    /// is connected.
    pub fn report(&self, tasks: &[(TaskId, u64)]) -> bool {
        let handle = &*self.handle;
        !handle.is_forked() && handle.engine.lock().report(&handle.engine, handle.index, tasks)
    }

    /// Senders need not be told at once what is settled: they hear of it on another way, as by [`Socket::report`]. They are
    /// told when half of their credit, or 256 KiB, is settled, and some milliseconds later at most. Or that they must be again.
    pub fn settle_lazily(&self, is_lazy: bool) {
        let handle = &*self.handle;
        if !handle.is_forked() {
            let mut state = handle.engine.lock();
            let socket = state.sockets.get_mut(handle.index);
            if let Some(senders) = socket.and_then(|socket| socket.senders.as_mut()) {
                senders.is_lazy = is_lazy;
            }
            if !is_lazy {
                state.tell_settled(&handle.engine, handle.index, true);
            }
        }
    }

    /// Tells the senders, those that connect later too, how long the application takes for a message that it has: then they
    /// need not guess how many make a good block.
    pub fn tell_pace(&self, time: Duration) {
        let handle = &*self.handle;
        if !handle.is_forked() {
            let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            handle.engine.lock().tell_pace(&handle.engine, handle.index, nanos);
        }
    }

    /// All messages of the batch were dealt with. Returns as [`Socket::accept`]; false also if one of them was settled
    /// before.
    pub fn accept_batch(&self, batch: &Batch) -> bool {
        self.settle_marked(batch.mark, batch.count, Outcome::Accepted, b"")
    }

    /// Settles tasks by name, `count` in sequence from `first` on, as far as they came here and are not settled.
    pub fn accept_tasks(&self, first: TaskId, count: u64) {
        self.settle_named(first, count, Outcome::Accepted, b"");
    }

    /// As [`Socket::accept_tasks`]: they cannot be dealt with.
    pub fn reject_tasks(&self, first: TaskId, count: u64, reason: &str) {
        self.settle_named(first, count, Outcome::Rejected, reason.as_bytes());
    }

    fn settle_named(&self, first: TaskId, count: u64, outcome: Outcome, reason: &[u8]) {
        let handle = &*self.handle;
        if !handle.is_forked() {
            let mut state = handle.engine.lock();
            state.settle_tasks(&handle.engine, handle.index, first, count, outcome, reason);
            handle.engine.after_call(state, Some(handle.index));
        }
    }

    fn settle(&self, delivery: &Delivery, outcome: Outcome, reason: &[u8]) -> bool {
        self.settle_marked(delivery.mark, 1, outcome, reason)
    }

    fn settle_marked(&self, mark: DeliveryMark, count: u64, outcome: Outcome, reason: &[u8]) -> bool {
        let handle = &*self.handle;
        if handle.is_forked() {
            return false;
        }
        let mut state = handle.engine.lock();
        let is_settled = state.settle_by_hand(&handle.engine, handle.index, mark, count, outcome, reason);
        handle.engine.after_call(state, Some(handle.index));
        is_settled
    }
}

impl State {
    /// Why a receive need not wait.
    fn why_nothing_follows(&mut self, socket: usize) -> Option<RecvError> {
        if self.sockets.get(socket).is_none_or(|socket| socket.closed) {
            return Some(RecvError::Closed);
        }
        self.has_ended(socket).then_some(RecvError::Ended)
    }
}
