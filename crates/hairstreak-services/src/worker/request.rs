//! `Request`: what a handler is given.

use std::fmt;

use hairstreak_base::Bytes;
use hairstreak_socket::Message;
use hairstreak_wire::hsn1::RequestId;

use super::run::{Arrival, Shared};
use super::session::Origin;

/// A request to be answered.
pub struct Request<'a> {
    pub(super) shared: &'a Shared,
    pub(super) link: usize,
    pub(super) origin: &'a Origin,
    pub(super) body: &'a [Bytes],
    pub(super) arrival: Arrival,
}

impl Request<'_> {
    /// The last frame: the body itself, where it has one frame.
    pub fn body(&self) -> &[u8] {
        self.body.last().map(Bytes::as_bytes).unwrap_or_default()
    }

    /// All frames of the body.
    pub fn frames(&self) -> &[Bytes] {
        self.body
    }

    /// Its client and number: the same whenever the request is given to somebody once more. `None`: the broker numbers none.
    pub fn id(&self) -> Option<RequestId> {
        match self.origin {
            Origin::Hsn1 { request, .. } => Some(*request),
            Origin::Plain { .. } => None,
        }
    }

    /// Workers that had it before; a broker that started again does not know of all.
    pub fn deliveries(&self) -> u16 {
        match self.origin {
            Origin::Hsn1 { deliveries, .. } => *deliveries,
            Origin::Plain { .. } => 0,
        }
    }

    /// Another worker may have done it, wholly or in part: it had the request before; or the broker may have given the request away since it came
    /// here, as far as is known now. That is so when the connection has ended, when this process has not run for
    /// [`heartbeat_timeout_ms`](super::WorkerOptions::heartbeat_timeout_ms), and when the broker has taken the request back. Of a pause behind
    /// this call nobody is told. False where the broker numbers none.
    pub fn is_repeated(&self) -> bool {
        match *self.origin {
            Origin::Hsn1 { request, is_repeated, .. } => {
                is_repeated || self.shared.is_doubtful(request, self.link, self.arrival)
            }
            Origin::Plain { .. } => false,
        }
    }

    /// Nobody waits for the reply any more.
    pub fn is_cancelled(&self) -> bool {
        self.id().is_some_and(|request| self.shared.board().is_cancelled(request))
    }

    /// Sends a part of the reply; what the handler returns is the last. Clients of MDP 0.1 get all at once. When the worker dies and
    /// the request is done once more, a call gets the second reply alone. A client that has taken parts one by one gets the rest only if the
    /// second reply begins with the same parts: handlers should say the same again.
    pub fn send_part(&self, part: impl Into<Message>) {
        self.shared.send_part(self.origin, self.link, &part.into());
    }
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("origin", self.origin)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}
