//! Receiving: blocking, timed, non-blocking, asynchronous, and in batches.

use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use hairstreak_base::Message;

use crate::engine::{Guard, State};
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
        let mut message = Message::new();
        let mut received = state.receive(&handle.engine, handle.index, &mut message);
        if !received {
            state = handle.engine.turn(state, Some(handle.index));
            received = state.receive(&handle.engine, handle.index, &mut message);
        }
        let closed = is_closed(&state, handle.index);
        handle.engine.after_call(state, Some(handle.index));
        match received {
            true => Ok(message),
            false => Err(if closed { RecvError::Closed } else { RecvError::WouldBlock }),
        }
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
            let mut message = Message::new();
            if state.receive(&handle.engine, handle.index, &mut message) {
                handle.engine.after_call(state, Some(handle.index));
                return Poll::Ready(Ok(message));
            }
            if is_closed(&state, handle.index) {
                return Poll::Ready(Err(RecvError::Closed));
            }
            waiter.wait(&mut state, context.waker());
            Poll::Pending
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
        let before = into.len();
        let mut bytes = 0;
        let mut state = handle.engine.lock();
        while into.len() - before < max.max(1) && bytes < BATCH_BYTES_MAX {
            into.push(Message::new());
            let at = into.len() - 1;
            if state.receive_ready(handle.index, &mut into[at])
                || state.receive(&handle.engine, handle.index, &mut into[at])
            {
                bytes += into[at].size();
                continue;
            }
            into.pop();
            if into.len() > before {
                break;
            }
            into.push(self.recv_waiting(state, None)?);
            state = handle.engine.lock();
        }
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
        if state.receive(&handle.engine, handle.index, into) {
            handle.engine.after_call(state, Some(handle.index));
            return Ok(());
        }
        *into = self.recv_waiting(state, deadline)?;
        Ok(())
    }

    #[cold]
    fn recv_waiting<'s>(&'s self, state: Guard<'s>, deadline: Option<Instant>) -> Result<Message, RecvError> {
        let handle = &*self.handle;
        let attempt = |state: &mut State| {
            let mut message = Message::new();
            if state.receive(&handle.engine, handle.index, &mut message) {
                return Some(Ok(message));
            }
            is_closed(state, handle.index).then_some(Err(RecvError::Closed))
        };
        let result = handle.engine.wait(state, handle.index, true, deadline, attempt);
        result.unwrap_or(Err(RecvError::TimedOut))
    }
}

fn is_closed(state: &State, socket: usize) -> bool {
    state.sockets.get(socket).is_none_or(|socket| socket.closed)
}
