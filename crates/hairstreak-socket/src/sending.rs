//! Sending: blocking, timed, non-blocking, asynchronous, and in batches.

use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use hairstreak_base::Message;

use crate::engine::{Guard, Sent, State, Wish};
use crate::errors::{SendAllError, SendError};
use crate::options::Overflow;
use crate::outgoing::Outgoing;
use crate::pattern::Sends;
use crate::socket::Socket;
use crate::waiting::Waiter;

/// Messages of a batch for which the lock is taken once.
const CHUNK_COUNT: usize = 64;

impl<P: Sends> Socket<P> {
    /// Sends, waiting while no peer has room (or there is none).
    #[inline]
    pub fn send<'a>(&self, message: impl Into<Outgoing<'a>>) -> Result<(), SendError> {
        self.send_until(message.into(), None)
    }

    /// Sends, waiting at most `timeout`.
    #[inline]
    pub fn send_timeout<'a>(
        &self,
        message: impl Into<Outgoing<'a>>,
        timeout: Duration,
    ) -> Result<(), SendError> {
        self.send_until(message.into(), Some(timeout))
    }

    /// Sends if a peer has room now; [`SendError::WouldBlock`] if none has.
    pub fn try_send<'a>(&self, message: impl Into<Outgoing<'a>>) -> Result<(), SendError> {
        let (message, handle) = (&message.into(), &*self.handle);
        if handle.is_forked() {
            return Err(SendError::Forked);
        }
        let mut state = handle.engine.lock();
        if state.send_short(handle.index, message) {
            return Ok(());
        }
        self.check(&state, message)?;
        let sent = state.send(&handle.engine, handle.index, message);
        if sent == Sent::Full {
            return self.send_now(state, message);
        }
        handle.engine.after_call(state, None);
        outcome(sent).unwrap_or(Err(SendError::WouldBlock))
    }

    /// Sends when a peer has room. Cancel safe: dropped before it is ready, nothing was sent.
    pub async fn send_async<'a>(&self, message: impl Into<Outgoing<'a>>) -> Result<(), SendError> {
        let message = message.into();
        let handle = &*self.handle;
        let waiter = Waiter::new(handle, Wish::Room);
        poll_fn(|context| {
            if handle.is_forked() {
                return Poll::Ready(Err(SendError::Forked));
            }
            let mut state = handle.engine.lock();
            if let Err(error) = self.check(&state, &message) {
                return Poll::Ready(Err(error));
            }
            let sent = state.send(&handle.engine, handle.index, &message);
            match outcome(sent) {
                Some(result) => {
                    handle.engine.after_call(state, None);
                    Poll::Ready(result)
                }
                None if state.sockets[handle.index].overflow == Overflow::Error => {
                    Poll::Ready(self.send_now(state, &message))
                }
                None => {
                    waiter.wait(&mut state, context.waker());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Sends every message, waiting as need be, and returns how many. An iterator that knows how many
    /// there are is taken from, and the lock taken, for 64 at a time; any other for one, since it may wait
    /// for the next. The error says how many were sent before it; of the others some may have been taken from the
    /// iterator.
    pub fn send_all<'a, I>(&self, messages: I) -> Result<usize, SendAllError>
    where
        I: IntoIterator,
        I::Item: Into<Outgoing<'a>>,
    {
        if self.handle.is_forked() {
            return Err(SendAllError { sent_count: 0, source: SendError::Forked });
        }
        let mut messages = messages.into_iter().map(Into::into).fuse();
        let mut chunk = [Outgoing::Body(&[]); CHUNK_COUNT];
        let mut count = 0;
        loop {
            // The iterator is the application's code: it runs without the lock.
            let knows_its_length = matches!(messages.size_hint(), (least, Some(most)) if least == most);
            let wanted = if knows_its_length { CHUNK_COUNT } else { 1 };
            let taken = chunk[..wanted].iter_mut().zip(&mut messages);
            let size = taken.map(|(place, message)| *place = message).count();
            if size == 0 {
                return Ok(count);
            }
            let (sent, result) = self.send_chunk(&chunk[..size]);
            count += sent;
            result.map_err(|source| SendAllError { sent_count: count, source })?;
        }
    }

    /// Sends these messages in one turn at the lock, or as many as have room, waiting for it then. Returns how many
    /// it sent, and why not more.
    fn send_chunk(&self, messages: &[Outgoing<'_>]) -> (usize, Result<(), SendError>) {
        let handle = &*self.handle;
        let mut state = handle.engine.lock();
        let mut count = 0;
        loop {
            count += state.send_gathering_many(handle.index, &messages[count..]);
            let Some(message) = messages.get(count) else { break };
            if !state.send_short(handle.index, message) {
                if let Err(error) = self.check(&state, message) {
                    return (count, Err(error));
                }
                let sent = state.send(&handle.engine, handle.index, message);
                if sent == Sent::Full {
                    if let Err(error) = self.send_waiting(state, message, None) {
                        return (count, Err(error));
                    }
                    state = handle.engine.lock();
                } else if let Some(Err(error)) = outcome(sent) {
                    return (count, Err(error));
                }
            }
            count += 1;
        }
        handle.engine.after_call(state, None);
        (count, Ok(()))
    }

    /// Writes what has gathered now.
    pub fn flush(&self) {
        if self.handle.is_forked() {
            return;
        }
        self.handle.engine.lock().flush_dirty(&self.handle.engine, true);
    }

    #[inline(always)]
    fn send_until(&self, message: Outgoing<'_>, timeout: Option<Duration>) -> Result<(), SendError> {
        let handle = &*self.handle;
        match message {
            Outgoing::Body(body) => {
                if let Some(mut state) = handle.lock_as_owner()
                    && state.send_short_body(handle.index, body)
                {
                    return Ok(());
                }
                self.send_body_at_length(body, timeout)
            }
            Outgoing::Message(message) => {
                if let Some(mut state) = handle.lock_as_owner()
                    && state.send_short_message(handle.index, message)
                {
                    return Ok(());
                }
                self.send_message_at_length(message, timeout)
            }
            Outgoing::Frames(_) | Outgoing::Headed { .. } => self.send_at_length(&message, timeout),
        }
    }

    // The next two take apart what they pass on: made where it may be needed, it would be written to memory at every call.

    #[inline(never)]
    fn send_body_at_length(&self, body: &[u8], timeout: Option<Duration>) -> Result<(), SendError> {
        self.send_at_length(&Outgoing::Body(body), timeout)
    }

    #[inline(never)]
    fn send_message_at_length(&self, message: &Message, timeout: Option<Duration>) -> Result<(), SendError> {
        self.send_at_length(&Outgoing::Message(message), timeout)
    }

    /// A send that may write, wait or fail.
    #[inline(never)]
    fn send_at_length(&self, message: &Outgoing<'_>, timeout: Option<Duration>) -> Result<(), SendError> {
        let handle = &*self.handle;
        if handle.is_forked() {
            return Err(SendError::Forked);
        }
        let mut state = handle.engine.lock();
        // The owner has tried, unless there are several frames.
        let is_untried =
            !state.is_owners() || matches!(message, Outgoing::Frames(_) | Outgoing::Headed { .. });
        if is_untried && state.send_short(handle.index, message) {
            return Ok(());
        }
        self.send_locked(state, message, timeout)
    }

    fn send_locked<'s>(
        &'s self,
        mut state: Guard<'s>,
        message: &Outgoing<'_>,
        timeout: Option<Duration>,
    ) -> Result<(), SendError> {
        let handle = &*self.handle;
        self.check(&state, message)?;
        match state.send(&handle.engine, handle.index, message) {
            Sent::Done => {
                handle.engine.after_call(state, None);
                Ok(())
            }
            Sent::Full => self.send_waiting(state, message, timeout),
            sent => outcome(sent).unwrap_or(Ok(())),
        }
    }

    /// Nobody had room: takes a turn at the engine, tries once more, and gives up.
    #[cold]
    fn send_now<'s>(&'s self, state: Guard<'s>, message: &Outgoing<'_>) -> Result<(), SendError> {
        let handle = &*self.handle;
        let mut state = handle.engine.turn(state, None);
        let sent = state.send(&handle.engine, handle.index, message);
        handle.engine.after_call(state, None);
        outcome(sent).unwrap_or(Err(SendError::WouldBlock))
    }

    #[cold]
    fn send_waiting<'s>(
        &'s self,
        state: Guard<'s>,
        message: &Outgoing<'_>,
        timeout: Option<Duration>,
    ) -> Result<(), SendError> {
        let handle = &*self.handle;
        if state.sockets.get(handle.index).is_some_and(|socket| socket.overflow == Overflow::Error) {
            return self.send_now(state, message);
        }
        // Only who waits needs a clock.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let attempt = |state: &mut State| outcome(state.send(&handle.engine, handle.index, message));
        let result = handle.engine.wait(state, handle.index, false, deadline, attempt);
        result.unwrap_or(Err(SendError::TimedOut))
    }

    /// Refuses what is over the socket's limits, before anything of it is sent.
    #[inline]
    pub(crate) fn check(&self, state: &State, message: &Outgoing<'_>) -> Result<(), SendError> {
        let Some(socket) = state.sockets.get(self.handle.index) else { return Err(SendError::Closed) };
        let (size, limit) = (message.size(), socket.options.message_size_max);
        if size > limit {
            return Err(SendError::TooLarge { size, limit });
        }
        let (count, limit) = (message.frame_count(), socket.options.frame_count_max);
        if count > limit {
            return Err(SendError::TooManyFrames { count, limit });
        }
        Ok(())
    }
}

/// The result of a send; `None`: no room yet.
#[inline]
pub(crate) fn outcome(sent: Sent) -> Option<Result<(), SendError>> {
    match sent {
        Sent::Done => Some(Ok(())),
        Sent::Full => None,
        Sent::Refused(error) => Some(Err(error.into())),
        Sent::OutOfTurn => Some(Err(SendError::OutOfTurn)),
        Sent::Unroutable => Some(Err(SendError::Unroutable)),
        Sent::Closed => Some(Err(SendError::Closed)),
    }
}
