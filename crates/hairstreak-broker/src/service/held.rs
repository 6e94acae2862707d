//! What workers have from before: requests that they run, or have replied to, for this broker or another one.

use std::time::Duration;

use hairstreak_wire::numbered::{HeldList, RequestId};

use super::broker::Broker;
use super::early::EarlyReply;
use super::outbox::Outbox;
use super::requests::RequestState;
use super::window::Slot;
use super::workers::WorkerRef;

/// Numbers of one list that are looked at.
const HELD_NUMBERS_MAX: u64 = 262_144;

impl Broker {
    /// A worker says which requests it has, or has replied to.
    pub(super) fn note_held(
        &mut self,
        now: Duration,
        worker: WorkerRef,
        held: HeldList<'_>,
        out: &mut impl Outbox,
    ) {
        let (window_max, all_max) = (self.options.open_per_client_max, self.options.open_max);
        let mut left = HELD_NUMBERS_MAX;
        for range in held.ranges() {
            let client = self.clients.hear_of(now, range.client, range.first, &self.options);
            let Some(client) = client else { continue };
            let Some(first) = self.clients.get(client).map(|found| found.first().max(range.first)) else {
                continue;
            };
            let last = range.last.min(first.saturating_add(left - 1));
            for number in first..=last {
                left -= 1;
                match self.clients.get(client).map(|found| found.slot(number)) {
                    Some(Slot::Open(key)) => self.note_holder(now, key, worker, out),
                    // Of several that have it, who spoke last is the surest to live.
                    Some(Slot::With(_) | Slot::Unknown) => {
                        if !self.clients.has_room(client, number, window_max, all_max) {
                            break;
                        }
                        self.clients.set(client, number, Slot::With(worker));
                    }
                    Some(Slot::Unread) | None => {}
                }
            }
            if left == 0 {
                break;
            }
        }
    }

    /// A worker has a request from before: it is asked for it, at once or when the one that has it by now is gone.
    fn note_holder(&mut self, now: Duration, key: usize, worker: WorkerRef, out: &mut impl Outbox) {
        let service = self.workers.get(worker).map(|worker| worker.service);
        let Some(request) = self.requests.get(key).filter(|request| Some(request.service) == service) else {
            return;
        };
        if !matches!(request.state, RequestState::Dispatched { .. } | RequestState::Kept { .. }) {
            self.unlist(key);
            self.give_holder(now, key, worker, out);
        } else if !request.is_with(worker)
            && let Some(request) = self.requests.get_mut(key)
        {
            request.other_holder = Some(worker);
        }
    }

    /// A reply of one that is no worker here: another broker gave it the request, before that broker's end. It is somebody's who
    /// was told to ask again.
    pub(super) fn take_early(
        &mut self,
        now: Duration,
        id: RequestId,
        reply: EarlyReply,
        out: &mut impl Outbox,
    ) {
        let waiting = self.open_key(id).filter(|key| {
            self.requests.get(*key).is_some_and(|request| {
                request.is_repeated
                    && matches!(
                        request.state,
                        RequestState::Holding | RequestState::Queued | RequestState::Parked
                    )
            })
        });
        match waiting {
            Some(key) => {
                let body = &reply.message.as_frames()[reply.body_index..];
                self.finish(key, Slot::Unknown, None, body, out);
            }
            None => self.early.insert(self.held_until(now), id, reply),
        }
    }

    /// Nobody said in time that he has these: somebody does them.
    pub(super) fn release_held(&mut self, now: Duration, out: &mut impl Outbox) {
        while let Some(reference) = self.holding.first() {
            let waits = self.requests.is(reference, RequestState::Holding);
            let due = self.held_due(reference);
            if waits && due > now {
                return;
            }
            self.holding.pop_front();
            if let Some(service) =
                self.requests.find(reference).filter(|_| waits).map(|request| request.service)
            {
                self.unlist(reference.key);
                self.enqueue(reference.key, false);
                self.dispatch(now, service, out);
            }
        }
    }

    /// When the first of the requests that wait for their workers waits no more.
    pub(super) fn next_held(&self) -> Option<Duration> {
        self.holding.first().map(|reference| self.held_due(reference))
    }

    /// At once, if it went elsewhere.
    fn held_due(&self, reference: super::requests::RequestRef) -> Duration {
        self.requests.find(reference).map_or(Duration::ZERO, |request| self.held_until(request.arrived))
    }
}
