//! Suspects: what several workers had and did not answer may be what ended them. The more workers had it, the fewer others are with it
//! at the next one, and the last worker that it may have has it alone: so what kills its workers is found, and takes nothing
//! else along.

use std::time::Duration;

use super::machine::Broker;
use super::options::Limits;
use super::workers::WorkerRef;
use crate::outbox::Outbox;

/// How many requests a worker may have that has a suspect, step by step.
pub(super) const COMPANY: [u32; 3] = [64, 8, 1];
/// Workers that a request may have in any company.
const UNSUSPECTED_DELIVERIES: u16 = 2;

impl Limits {
    /// Which of the steps a request has come to that so many workers had. `None`: none yet.
    pub(super) fn suspicion(&self, deliveries: u16) -> Option<usize> {
        let last = COMPANY.len() - 1;
        let left = self.deliveries_max.saturating_sub(1).saturating_sub(deliveries);
        let by_count = deliveries.checked_sub(UNSUSPECTED_DELIVERIES).map(|step| usize::from(step).min(last));
        // Where fewer are left than there are steps, it begins further on; the last one is alone, unless it is the first.
        let by_rest = last.checked_sub(left.into()).filter(|_| deliveries > 0);
        by_count.max(by_rest)
    }
}

impl Broker {
    /// Gives suspects to workers that have few enough others. Where none has, the least busy one gets nothing new until it has, if
    /// another one goes on meanwhile; what has waited for half as long as a request may goes to any.
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

    /// This worker, which has room, or the one that is kept free already, gets nothing new until it has fewer than so many.
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

    /// No worker is kept free any more.
    fn release(&mut self, service: usize) {
        let reserved = self.services.get_mut(service).and_then(|found| found.reserved.take());
        if let Some(worker) = reserved {
            self.change_worker(worker, |worker| worker.kept_below = u32::MAX);
        }
    }
}
