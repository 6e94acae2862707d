//! Receiving: blocking, timed, non-blocking, asynchronous, and in batches.

use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use hairstreak_base::Message;

use crate::engine::{Guard, Received, State};
use crate::errors::RecvError;
use crate::pattern::Receives;
use crate::socket::Socket;
use crate::waiting::Waiter;

/// Bytes after which a batch is handed over.
const BATCH_BYTES_MAX: usize = 1 << 20;

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
        if handle.is_foreign() {
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
        let waiter = Waiter::new(handle);
        poll_fn(|context| {
            if handle.is_foreign() {
                return Poll::Ready(Err(RecvError::Forked));
            }
            let mut state = handle.engine.lock();
            state.begin_to_receive(&handle.engine, handle.index);
            let mut message = Message::new();
            match self.attempt(&mut state, &mut message) {
                Some(result) => {
                    handle.engine.after_call(state, Some(handle.index));
                    Poll::Ready(result.map(|()| message))
                }
                None => {
                    waiter.wait(&mut state, true, context.waker());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Waits for a message, then takes those that are here, at most `max` (at least 1) and about a
    /// mebibyte: more at once would only be cold memory. Appends them to `into` and returns how many.
    pub fn recv_many(&self, into: &mut Vec<Message>, max: usize) -> Result<usize, RecvError> {
        let handle = &*self.handle;
        if handle.is_foreign() {
            return Err(RecvError::Forked);
        }
        let (before, max) = (into.len(), max.max(1));
        let mut bytes = 0;
        let mut state = handle.engine.lock();
        state.begin_to_receive(&handle.engine, handle.index);
        loop {
            let (left, bytes_left) = (max - (into.len() - before), BATCH_BYTES_MAX.saturating_sub(bytes));
            bytes += state.receive_ready_many(handle.index, into, left, bytes_left);
            if into.len() - before >= max || bytes >= BATCH_BYTES_MAX {
                break;
            }
            into.push(Message::new());
            let at = into.len() - 1;
            if state.receive_ready(handle.index, &mut into[at]) {
                bytes += into[at].size();
                continue;
            }
            match self.attempt(&mut state, &mut into[at]) {
                Some(Ok(())) => bytes += into[at].size(),
                _ if at > before => {
                    into.pop();
                    break;
                }
                Some(Err(error)) => {
                    into.pop();
                    return Err(error);
                }
                None => {
                    into.pop();
                    into.push(self.recv_waiting(state, None)?);
                    state = handle.engine.lock();
                }
            }
        }
        state.end_batch(handle.index);
        handle.engine.after_call(state, Some(handle.index));
        Ok(into.len() - before)
    }

    #[inline]
    fn recv_until(&self, deadline: Option<Instant>) -> Result<Message, RecvError> {
        let mut message = Message::new();
        self.recv_into_until(&mut message, deadline)?;
        Ok(message)
    }

    /// The message is written where it is wanted: it is a cache line, and moving it costs as much as the
    /// rest.
    fn recv_into_until(&self, into: &mut Message, deadline: Option<Instant>) -> Result<(), RecvError> {
        let handle = &*self.handle;
        if handle.is_foreign() {
            return Err(RecvError::Forked);
        }
        let mut state = handle.engine.lock_short();
        if state.receive_ready(handle.index, into) {
            return Ok(());
        }
        self.recv_at_length(handle.engine.guarded(state), into, deadline)
    }

    /// A receive that may read, wait or fail.
    #[inline(never)]
    fn recv_at_length<'s>(
        &'s self,
        mut state: Guard<'s>,
        into: &mut Message,
        deadline: Option<Instant>,
    ) -> Result<(), RecvError> {
        let handle = &*self.handle;
        state.begin_to_receive(&handle.engine, handle.index);
        // Apart from `into`: a pattern may look at messages that the application does not get.
        let mut message = Message::new();
        state.start_looking(&handle.engine, handle.index);
        let Some(result) = self.attempt(&mut state, &mut message) else {
            *into = self.recv_waiting(state, deadline)?;
            return Ok(());
        };
        state.stop_looking(&handle.engine, handle.index);
        handle.engine.after_call(state, Some(handle.index));
        result.map(|()| *into = message)
    }

    #[cold]
    fn recv_waiting<'s>(&'s self, state: Guard<'s>, deadline: Option<Instant>) -> Result<Message, RecvError> {
        let handle = &*self.handle;
        let attempt = |state: &mut State| {
            let mut message = Message::new();
            Some(self.attempt(state, &mut message)?.map(|()| message))
        };
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
