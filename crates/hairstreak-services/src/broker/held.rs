//! Held requests: workers run them or have replied to them, for this broker or for another one.

use std::sync::Arc;
use std::time::Duration;

use hairstreak_base::Body;
use hairstreak_wire::hsn1::{HeldList, RequestId};

use super::machine::Broker;
use super::requests::{Place, RequestState};
use super::window::{Slot, Told};
use super::workers::WorkerRef;
use crate::outbox::Outbox;

/// Numbers of one worker's reports that are processed per second: two full lists of the most replies that a worker of
/// Hairstreak remembers.
const HELD_NUMBERS_MAX: u64 = 524_288;
const HELD_INTERVAL: Duration = Duration::from_secs(1);

/// Numbers that a worker may still report, so that no worker keeps the broker busy with reports.
#[derive(Debug, Default)]
pub(super) struct HeldAllowance {
    /// Numbers left in the second that began at `renewed`.
    left: u64,
    renewed: Option<Duration>,
}

impl HeldAllowance {
    fn left(&mut self, now: Duration) -> u64 {
        if self.renewed.is_none_or(|renewed| now >= renewed + HELD_INTERVAL) {
            (self.left, self.renewed) = (HELD_NUMBERS_MAX, Some(now));
        }
        self.left
    }

    fn set_left(&mut self, left: u64) {
        self.left = left;
    }
}

impl Broker {
    /// Handles a worker's report of the requests that it has or has replied to.
    pub(super) fn note_held(
        &mut self,
        now: Duration,
        worker: WorkerRef,
        held: HeldList<'_>,
        out: &mut impl Outbox,
    ) {
        let Some(mut left) = self.workers.get_mut(worker).map(|worker| worker.held.left(now)) else { return };
        for range in held.ranges() {
            if left == 0 {
                break;
            }
            let told = match self.clients.hear_of(now, range.client, range.first, &self.options) {
                Some(client) => self.clients.tell(client, range, left, worker, &self.options),
                None => Told::default(),
            };
            // The search for a client has a cost too.
            left = left.saturating_sub(told.count.max(1) as u64);
            for key in told.open {
                self.note_holder(now, key, worker, out);
            }
        }
        if let Some(worker) = self.workers.get_mut(worker) {
            worker.held.set_left(left);
        }
    }

    /// Notes that a worker has a request from before. The worker is asked for it at once, or when the current worker is
    /// gone.
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

    /// Takes a reply from a peer that is not a worker here. Another broker gave it the request and then ended. The
    /// client of the request was told to ask again. `peer` is the sender of the reply.
    pub(super) fn take_early(
        &mut self,
        now: Duration,
        peer: &[u8],
        id: RequestId,
        reply: Body,
        out: &mut impl Outbox,
    ) {
        let user = self.permissions.gate().user(peer);
        let waiting = self.open_key(id).filter(|key| {
            self.requests.get(*key).is_some_and(|request| {
                request.is_repeated
                    && matches!(
                        request.state,
                        RequestState::Holding
                            | RequestState::Queued
                            | RequestState::Suspect { .. }
                            | RequestState::Parked
                    )
            })
        });
        match waiting.and_then(|key| Some((key, self.services.get(self.requests.get(key)?.service)?))) {
            Some((key, service)) if self.permissions.may_serve(user, &service.name) => {
                self.finish(key, Slot::Unknown, Place::WHOLE, reply.frames(), out);
            }
            Some(_) => self.drops.late += 1,
            None => self.early.insert(self.options.held_until(now), id, (reply, user.map(Arc::from))),
        }
    }

    /// Queues held requests that no worker reported in time, so that a worker does them.
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

    /// Returns the end of the wait of the first held request.
    pub(super) fn next_held(&self) -> Option<Duration> {
        self.holding.first().map(|reference| self.held_due(reference))
    }

    /// Returns the end of the wait, or zero if the request has left the list.
    fn held_due(&self, reference: super::requests::RequestRef) -> Duration {
        self.requests
            .find(reference)
            .map_or(Duration::ZERO, |request| self.options.held_until(request.arrived))
    }
}
