//! `Request`: the argument of a handler.

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
    /// Returns the last frame, which is the whole body if it has one frame.
    pub fn body(&self) -> &[u8] {
        self.body.last().map(Bytes::as_bytes).unwrap_or_default()
    }

    /// Returns all frames of the body.
    pub fn frames(&self) -> &[Bytes] {
        self.body
    }

    /// Returns the client and number of the request. They stay the same if the request is given to another worker.
    /// `None`: the broker does not number requests.
    pub fn id(&self) -> Option<RequestId> {
        match self.origin {
            Origin::Hsn1 { request, .. } => Some(*request),
            Origin::Plain { .. } => None,
        }
    }

    /// Returns the number of workers that had the request before. A restarted broker does not know of all.
    pub fn deliveries(&self) -> u16 {
        match self.origin {
            Origin::Hsn1 { deliveries, .. } => *deliveries,
            Origin::Plain { .. } => 0,
        }
    }

    /// Returns whether another worker may have done the request in whole or in part. Either it had the request before,
    /// or the broker may have given the request away since, as far as is known now. The second case applies after the
    /// end of the connection, after a pause of this process of
    /// [`heartbeat_timeout_ms`](super::WorkerOptions::heartbeat_timeout_ms), and after a cancel by the broker. A pause
    /// after this call is not covered. Always false if the broker does not number requests.
    pub fn is_repeated(&self) -> bool {
        match *self.origin {
            Origin::Hsn1 { request, is_repeated, .. } => {
                is_repeated || self.shared.is_doubtful(request, self.link, self.arrival)
            }
            Origin::Plain { .. } => false,
        }
    }

    /// Returns whether the reply is no longer wanted.
    pub fn is_cancelled(&self) -> bool {
        self.id().is_some_and(|request| self.shared.board().is_cancelled(request))
    }

    /// Sends a part of the reply. The return value of the handler is the last part. Clients of MDP 0.1 get all parts at
    /// once. If the worker dies and the request is done again, a call gets only the second reply. A client that has
    /// taken parts one by one gets the rest only if the second reply begins with the same parts. Handlers should
    /// therefore be deterministic.
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
