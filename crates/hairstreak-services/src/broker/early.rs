//! Early replies: replies that arrive before their requests. A worker of plain MDP finishes a request of another broker
//! before the client has asked this one. Each early reply is kept for one heartbeat: a resent request waits that long
//! for the worker that may already have it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use hairstreak_base::{Body, Bytes};
use hairstreak_wire::hsn1::RequestId;

/// Most early replies.
const EARLY_COUNT_MAX: usize = 1024;
/// Most bytes of early replies.
const EARLY_BYTES_MAX: usize = 16 << 20;

fn size_of(reply: &Body) -> usize {
    reply.frames().iter().map(Bytes::size).sum()
}

#[derive(Debug, Default)]
pub(super) struct EarlyReplies {
    replies: HashMap<RequestId, Early>,
    order: VecDeque<(Duration, RequestId)>,
    bytes: usize,
}

/// A reply, and the user of its worker.
type Early = (Body, Option<Arc<str>>);

impl EarlyReplies {
    /// Keeps a reply until `until`, if there is room and no reply is kept for that request.
    pub fn insert(&mut self, until: Duration, request: RequestId, (mut reply, user): Early) {
        let size = size_of(&reply);
        if self.order.len() < EARLY_COUNT_MAX
            && self.bytes + size <= EARLY_BYTES_MAX
            && !self.replies.contains_key(&request)
        {
            self.bytes += size;
            reply.compact();
            self.order.push_back((until, request));
            self.replies.insert(request, (reply, user));
        }
    }

    pub fn take(&mut self, request: RequestId) -> Option<Early> {
        let early = self.replies.remove(&request)?;
        self.bytes -= size_of(&early.0);
        Some(early)
    }

    pub fn forget_old(&mut self, now: Duration) {
        while self.order.front().is_some_and(|(until, _)| *until <= now) {
            if let Some((_, request)) = self.order.pop_front() {
                self.take(request);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}
