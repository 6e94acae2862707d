//! Suspects: requests that several workers had and did not answer. Such a request may have killed them. The more
//! workers had it, the fewer other requests are with it at the next worker. The last permitted worker has it alone.
//! This finds a request that kills its workers, and protects the others.

use std::time::Duration;

use super::machine::Broker;
use super::options::Limits;
use super::workers::WorkerRef;
use crate::outbox::Outbox;

/// Most requests of a worker that has a suspect, by step.
pub(super) const COMPANY: [u32; 3] = [64, 8, 1];
/// Deliveries of a request without any suspicion.
const UNSUSPECTED_DELIVERIES: u16 = 2;

/// Returns the step of suspicion of a request that `deliveries` workers had. `None`: not suspect.
pub(super) fn suspicion(limits: &Limits, deliveries: u16) -> Option<usize> {
    let last = COMPANY.len() - 1;
    let left = limits.deliveries_max.saturating_sub(1).saturating_sub(deliveries);
    let by_count = deliveries.checked_sub(UNSUSPECTED_DELIVERIES).map(|step| usize::from(step).min(last));
    // With fewer deliveries left than steps, the suspicion starts at a later step. The last delivery is alone,
    // unless it is the first.
    let by_rest = last.checked_sub(left.into()).filter(|_| deliveries > 0);
    by_count.max(by_rest)
}

impl Broker {
    /// Gives suspects to workers with few enough other requests. If there is none, the least busy worker gets nothing
    /// new until it qualifies, provided that another worker continues meanwhile. A suspect that has waited for half of
    /// the permitted time goes to any worker.
    pub(super) fn deal_suspects(&mut self, now: Duration, service: usize, out: &mut impl Outbox) {
        for (step, company) in COMPANY.into_iter().enumerate() {
            while let Some(found) = self.services.get_mut(service)
                && let Some(since) = found.suspect_since(step, &self.requests)
            {
                let patience = Duration::from_millis((found.limits.queue_age_max_ms / 2).into());
                let is_late = now >= since + patience;
                let least_busy = found.least_busy().and_then(|index| self.workers.reference(index));
                let Some(worker) = least_busy else { return self.release(service) };
                if !is_late && self.workers.get(worker).is_some_and(|worker| worker.working() >= company) {
                    return self.keep_free(service, worker, company);
                }
                let Some(found) = self.services.get_mut(service) else { return };
                let Some(key) = found.dequeue_suspect(step, &mut self.requests) else { break };
                if self.park_if_stalled(key) || !self.give_or_enqueue(now, key, worker, out) || is_late {
                    continue;
                }
                if let Some(request) = self.requests.get_mut(key) {
                    request.suspicion = Some(step);
                    self.change_worker(worker, |worker| worker.suspects[step] += 1);
                }
            }
        }
        self.release(service);
    }

    /// Holds new requests back from this worker, which has room, until it has fewer than `company`. A worker that is
    /// already kept free has priority.
    fn keep_free(&mut self, service: usize, worker: WorkerRef, company: u32) {
        let Some(found) = self.services.get_mut(service) else { return };
        let with_room_count = found.with_room_count();
        let reserved = found.reserved;
        let reserved = reserved.filter(|worker| self.workers.get(*worker).is_some_and(|w| w.may_be_given()));
        if reserved.is_none() {
            self.release(service);
            if with_room_count < 2 {
                return;
            }
        }
        let worker = reserved.unwrap_or(worker);
        if let Some(found) = self.services.get_mut(service) {
            found.reserved = Some(worker);
        }
        self.change_worker(worker, |worker| worker.kept_below = company);
    }

    /// Ends the reservation of the worker that is kept free.
    fn release(&mut self, service: usize) {
        let reserved = self.services.get_mut(service).and_then(|found| found.reserved.take());
        if let Some(worker) = reserved {
            self.change_worker(worker, |worker| worker.kept_below = u32::MAX);
        }
    }
}
