//! Requests that travel alone: what several workers had and did not answer may be what ended them, and goes to a worker that has
//! nothing else, so that it takes nothing along.

use std::time::Duration;

use super::broker::Broker;
use super::outbox::Outbox;
use super::workers::WorkerRef;

impl Broker {
    /// Gives each request that travels alone a worker for itself. Where no worker is idle the least busy one gets nothing new until it is;
    /// if that takes half as long as a request may wait, what waits for it has company after all.
    pub(super) fn deal_alone(&mut self, now: Duration, service: usize, out: &mut impl Outbox) {
        while let Some(since) =
            self.services.get_mut(service).and_then(|found| found.alone_since(&self.requests))
            && let Some(worker) = self.reserve(service)
        {
            let limits = self.services.get(service).map(|found| &found.limits);
            let patience = limits.map_or(0, |limits| limits.queue_age_max_ms / 2);
            let waits = now < since + Duration::from_millis(patience.into());
            if waits && !self.workers.get(worker).is_some_and(|worker| worker.is_idle()) {
                return;
            }
            let Some(found) = self.services.get_mut(service) else { return };
            found.reserved = None;
            let Some(key) = found.dequeue_alone(&mut self.requests) else { break };
            let is_given = !self.park_if_stalled(key) && self.give_or_enqueue(now, key, worker, out);
            self.change_worker(worker, |worker| worker.is_reserved = is_given);
        }
        self.release(service);
    }

    /// The worker that is kept free for the first request that travels alone: from now on, if there was none. `None`: no worker has
    /// room.
    fn reserve(&mut self, service: usize) -> Option<WorkerRef> {
        let reserved = self.services.get(service)?.reserved;
        if reserved.and_then(|worker| self.workers.get(worker)).is_some_and(|worker| worker.may_be_given()) {
            return reserved;
        }
        self.release(service);
        let found = self.services.get_mut(service)?;
        let worker = found.least_busy().and_then(|index| self.workers.reference(index))?;
        found.reserved = Some(worker);
        self.change_worker(worker, |worker| worker.is_reserved = true);
        Some(worker)
    }

    /// No worker is kept free any more.
    fn release(&mut self, service: usize) {
        let reserved = self.services.get_mut(service).and_then(|found| found.reserved.take());
        if let Some(worker) = reserved {
            self.change_worker(worker, |worker| worker.is_reserved = false);
        }
    }
}
