//! `Listening`: a listener on a loop, which hands each accepted stream to the loop with the fewest connections.
//!
//! One loop accepts for all. The kernel's own way, a socket of each loop (`SO_REUSEPORT`), spreads connections by a hash of
//! their addresses, so that a few connections meet on one loop, and there is no such way for unix sockets.

use std::io;
use std::time::{Duration, Instant};

use crate::endpoint::Endpoint;
use crate::listener::Listener;
use crate::poller::{Interest, Poller};
use crate::stream::Stream;

/// Streams accepted in one turn.
const ACCEPT_MAX: usize = 64;
/// The pause of a listener when descriptors are short.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Makes the protocol of an accepted stream; `None` closes the stream.
pub(super) type Accept<P> = Box<dyn FnMut(&Stream) -> Option<P> + Send>;

/// A listener and the protocol of its connections.
pub(super) struct Listening<P> {
    listener: Listener,
    accept: Accept<P>,
    is_watched: bool,
}

/// Result of accepting.
pub(super) enum Accepted {
    /// An event reports further streams.
    All,
    /// Descriptors are short, or the listener's fabric is gone; the listener rests.
    Failed(io::Error, Instant),
}

impl<P> Listening<P> {
    pub fn new(listener: Listener, accept: Accept<P>) -> Listening<P> {
        Listening { listener, accept, is_watched: false }
    }

    /// Watches the listener if it is not watched. Returns when to try again if the system has no room.
    pub fn watch(&mut self, poller: &Poller, token: u64, now: Instant) -> Option<Instant> {
        if !self.is_watched {
            self.is_watched = poller.add(&self.listener, token, Interest::Readable).is_ok();
        }
        (!self.is_watched).then_some(now + ACCEPT_PAUSE)
    }

    pub fn endpoint(&self) -> &Endpoint {
        self.listener.endpoint()
    }

    /// Stops watching the listener.
    pub fn unwatch(self, poller: &Poller) {
        if self.is_watched {
            poller.remove(&self.listener);
        }
    }

    /// Accepts waiting streams, within the turn's budget. `has_room` returns whether the loops take one connection
    /// more, and `hand_over` gives a stream and its protocol to a loop.
    pub fn accept(
        &mut self,
        poller: &Poller,
        now: Instant,
        has_room: impl Fn() -> bool,
        mut hand_over: impl FnMut(Stream, Box<P>),
    ) -> Accepted {
        for _ in 0..ACCEPT_MAX {
            match self.listener.accept() {
                Ok(Some(stream)) if has_room() => {
                    if let Some(protocol) = (self.accept)(&stream) {
                        hand_over(stream, Box::new(protocol));
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) => return Accepted::All,
                Err(error) => {
                    // A level-triggered listener would make the loop spin.
                    poller.remove(&self.listener);
                    self.is_watched = false;
                    return Accepted::Failed(error, now + ACCEPT_PAUSE);
                }
            }
        }
        Accepted::All
    }
}
