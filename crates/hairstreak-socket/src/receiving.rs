//! Receiving: blocking, timed, non-blocking, asynchronous, and in batches.

use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use hairstreak_base::Message;

use crate::batch::Batch;
use crate::engine::{Guard, Received, State, Wish};
use crate::errors::RecvError;
use crate::pattern::Receives;
use crate::socket::Socket;
use crate::waiting::Waiter;

impl<P: Receives> Socket<P> {
    /// The next message, waiting for it.
    #[inline]
    pub fn recv(&self) -> Result<Message, RecvError> {
        self.recv_until(None)
    }

    /// The next message in the place of `into`, waiting for it; on an error `into` is what it was.
    #[inline]
    pub fn recv_into(&self, into: &mut Message) -> Result<(), RecvError> {
        self.recv_into_until(into, None)
    }

    /// The next message, waiting at most `timeout`.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<Message, RecvError> {
        self.recv_until(Instant::now().checked_add(timeout))
    }

    /// The next message if one is here; [`RecvError::WouldBlock`] if none is.
    pub fn try_recv(&self) -> Result<Message, RecvError> {
        let handle = &*self.handle;
        if handle.is_forked() {
            return Err(RecvError::Forked);
        }
        let mut state = handle.engine.lock();
        state.begin_to_receive(&handle.engine, handle.index);
        let mut message = Message::new();
        let mut result = self.attempt(&mut state, &mut message);
        if result.is_none() {
            state = handle.engine.turn(state, Some(handle.index));
            result = self.attempt(&mut state, &mut message);
        }
        handle.engine.after_call(state, Some(handle.index));
        result.unwrap_or(Err(RecvError::WouldBlock)).map(|()| message)
    }

    /// The next message, when there is one. Cancel safe: a message leaves the socket only in the poll
    /// that returns it.
    pub async fn recv_async(&self) -> Result<Message, RecvError> {
        let handle = &*self.handle;
        let waiter = Waiter::new(handle, Wish::Message);
        poll_fn(|context| {
            if handle.is_forked() {
                return Poll::Ready(Err(RecvError::Forked));
            }
            let mut state = handle.engine.lock();
            state.begin_to_receive(&handle.engine, handle.index);
            let mut message = Message::new();
            match self.attempt(&mut state, &mut message) {
                Some(result) => {
                    waiter.end(&mut state);
                    handle.engine.after_call(state, Some(handle.index));
                    Poll::Ready(result.map(|()| message))
                }
                None => {
                    waiter.wait(&mut state, context.waker());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Waits for a message, then takes those that are here, at most `max` (at least 1) and about a
    /// mebibyte, each frame counted as 256 bytes more: others have their turn then. Puts them in the place of what `into` holds, so that one list
    /// serves again and again, and returns how many there are; on an error there are none.
    pub fn recv_many(&self, into: &mut Vec<Message>, max: usize) -> Result<usize, RecvError> {
        self.recv_many_until(into, max, None)
    }

    /// As [`recv_many`](Self::recv_many), waiting at most `timeout`.
    pub fn recv_many_timeout(
        &self,
        into: &mut Vec<Message>,
        max: usize,
        timeout: Duration,
    ) -> Result<usize, RecvError> {
        self.recv_many_until(into, max, Instant::now().checked_add(timeout))
    }

    fn recv_many_until(
        &self,
        into: &mut Vec<Message>,
        max: usize,
        deadline: Option<Instant>,
    ) -> Result<usize, RecvError> {
        let handle = &*self.handle;
        let mut batch = Batch::new(into, max.max(1));
        if handle.is_forked() {
            return Err(RecvError::Forked);
        }
        let mut state = handle.engine.lock();
        state.begin_to_receive(&handle.engine, handle.index);
        loop {
            state.receive_ready_many(handle.index, &mut batch);
            if batch.is_full() {
                break;
            }
            match self.attempt(&mut state, batch.place()) {
                Some(Ok(())) => batch.keep(),
                _ if batch.count() > 0 => break,
                Some(Err(error)) => return Err(error),
                None => {
                    self.recv_waiting(state, batch.place(), deadline)?;
                    batch.keep();
                    state = handle.engine.lock();
                }
            }
        }
        state.end_batch(handle.index);
        handle.engine.after_call(state, Some(handle.index));
        Ok(batch.count())
    }

    /// Not in line: there the compiler takes the message apart to move it, into pieces that the processor has to wait for.
    #[inline(never)]
    fn recv_until(&self, deadline: Option<Instant>) -> Result<Message, RecvError> {
        let mut message = Message::new();
        self.recv_into_until(&mut message, deadline)?;
        Ok(message)
    }

    #[inline(always)]
    fn recv_into_until(&self, into: &mut Message, deadline: Option<Instant>) -> Result<(), RecvError> {
        let handle = &*self.handle;
        if let Some(mut state) = handle.lock_as_owner()
            && state.receive_ready(handle.index, into)
        {
            return Ok(());
        }
        self.recv_at_length(into, deadline)
    }

    /// A receive that may read, wait or fail.
    #[inline(never)]
    fn recv_at_length(&self, into: &mut Message, deadline: Option<Instant>) -> Result<(), RecvError> {
        let handle = &*self.handle;
        if handle.is_forked() {
            return Err(RecvError::Forked);
        }
        let mut state = handle.engine.lock();
        // The owner has tried.
        if !state.is_owners() && state.receive_ready(handle.index, into) {
            return Ok(());
        }
        state.begin_to_receive(&handle.engine, handle.index);
        // Apart from `into`: a pattern may look at messages that the application does not get.
        let mut message = Message::new();
        state.start_looking(&handle.engine, handle.index);
        let Some(result) = self.attempt(&mut state, &mut message) else {
            self.recv_waiting(state, &mut message, deadline)?;
            *into = message;
            return Ok(());
        };
        state.stop_looking(&handle.engine, handle.index);
        handle.engine.after_call(state, Some(handle.index));
        result.map(|()| *into = message)
    }

    /// On an error `into` may be anything.
    #[cold]
    fn recv_waiting<'s>(
        &'s self,
        state: Guard<'s>,
        into: &mut Message,
        deadline: Option<Instant>,
    ) -> Result<(), RecvError> {
        let handle = &*self.handle;
        let attempt = |state: &mut State| self.attempt(state, into);
        let result = handle.engine.wait(state, handle.index, true, deadline, attempt);
        result.unwrap_or(Err(RecvError::TimedOut))
    }

    /// Looks for a message; `None`: none is here yet.
    #[inline(never)]
    fn attempt(&self, state: &mut State, message: &mut Message) -> Option<Result<(), RecvError>> {
        let handle = &*self.handle;
        match state.receive(&handle.engine, handle.index, message) {
            Received::Message => Some(Ok(())),
            Received::OutOfTurn => Some(Err(RecvError::OutOfTurn)),
            Received::PeerLost => Some(Err(RecvError::PeerLost)),
            Received::Nothing => {
                let closed = state.sockets.get(handle.index).is_none_or(|socket| socket.closed);
                closed.then_some(Err(RecvError::Closed))
            }
        }
    }
}
