//! Dispatch of requests to workers. The least busy worker with room gets the oldest request, unless the client does not
//! read. A request that a worker already has goes to that worker alone.

use std::cmp::Reverse;
use std::time::Duration;

use hairstreak_wire::hsn1::{Header, Refusal, with_body};
use hairstreak_wire::mdp::{self, Address, Version};

use super::machine::{Broker, Role};
use super::requests::{Request, RequestState};
use super::workers::{Dialect, Worker, WorkerRef};
use crate::outbox::{Outbox, Sent};

/// Most requests that a worker is given in a row before other workers get some.
const SHARE_COUNT_MAX: usize = 128;
/// Reason that no worker can get a request.
const TOO_LARGE: &str = "the request has more frames or bytes than can go to its worker";

impl Broker {
    /// Queues the request before or behind all others. The request is in no other list.
    pub(super) fn enqueue(&mut self, key: usize, first: bool) {
        let Some(service) = self.requests.get(key).map(|request| request.service) else { return };
        if let Some(service) = self.services.get_mut(service) {
            service.enqueue(&mut self.requests, key, first);
        }
    }

    /// Takes a request out of its list.
    pub(super) fn unlist(&mut self, key: usize) {
        let Some(request) = self.requests.get_mut(key) else { return };
        let (service, client) = (request.service, request.client);
        let state = request.state;
        if matches!(state, RequestState::Queued | RequestState::Suspect { .. }) {
            if let Some(service) = self.services.get_mut(service) {
                service.leave_queue(&mut self.requests, key);
            }
            return;
        }
        request.state = RequestState::Moving;
        match state {
            RequestState::Moving | RequestState::Queued | RequestState::Suspect { .. } => {}
            RequestState::Holding => self.holding.has_left(|found| self.requests.is(found, state)),
            RequestState::Kept { worker } => {
                if let Some(worker) = self.workers.get_mut(worker) {
                    worker.kept.has_left(|found| self.requests.is(found, state));
                }
            }
            RequestState::Parked => {
                if let Some(client) = self.clients.get_mut(client) {
                    client.parked.has_left(|found| self.requests.is(found, state));
                }
            }
            RequestState::Dispatched { worker: reference, .. } => {
                if let Some(step) = request.suspicion.take() {
                    self.change_worker(reference, |worker| worker.suspects[step] -= 1);
                }
                if let Some(worker) = self.workers.get_mut(reference) {
                    worker
                        .has
                        .has_left(|found| self.requests.find(found).is_some_and(|r| r.is_with(reference)));
                }
            }
        }
    }

    /// Gives queued requests to workers with room: at once, or at the end of the open batch.
    pub(super) fn dispatch(&mut self, now: Duration, service: usize, out: &mut impl Outbox) {
        if !self.batch.is_open {
            self.deal(now, service, out);
        } else if let Some(found) = self.services.get_mut(service)
            && !std::mem::replace(&mut found.is_noted, true)
        {
            self.batch.noted.push(service);
        }
    }

    /// Ends a batch whose messages are all taken, and dispatches the requests of the services that it touched.
    pub fn end_batch(&mut self, now: Duration, out: &mut impl Outbox) {
        self.batch.is_open = false;
        while let Some(service) = self.batch.noted.pop() {
            if let Some(found) = self.services.get_mut(service) {
                found.is_noted = false;
            }
            self.deal(now, service, out);
        }
    }

    /// Gives each worker with room its share, the least busy worker first. A share of several requests is one write and
    /// wakes the worker once.
    pub(super) fn deal(&mut self, now: Duration, service: usize, out: &mut impl Outbox) {
        self.deal_suspects(now, service, out);
        while let Some(found) = self.services.get_mut(service)
            && let Some(worker) = found.least_busy().and_then(|index| self.workers.reference(index))
            && let share = found.share(SHARE_COUNT_MAX)
            && share > 0
        {
            for _ in 0..share {
                if !self.workers.get(worker).is_some_and(Worker::has_room) {
                    break;
                }
                let Some(found) = self.services.get_mut(service) else { return };
                let Some(key) = found.dequeue(&mut self.requests) else { return };
                if self.park_if_stalled(key) {
                    continue;
                }
                self.give_or_enqueue(now, key, worker, out);
            }
        }
    }

    /// Gives a request, which is in no list, to a worker that is new to it. If the worker does not get it, the request
    /// is queued before all others. Returns whether the worker has it.
    pub(super) fn give_or_enqueue(
        &mut self,
        now: Duration,
        key: usize,
        worker: WorkerRef,
        out: &mut impl Outbox,
    ) -> bool {
        let sent = self.give(now, key, worker, true, out);
        match sent {
            Sent::Done => {}
            Sent::Full | Sent::Gone => self.enqueue(key, true),
            Sent::Never => self.give_up(key, Refusal::Malformed, TOO_LARGE, out),
        }
        sent == Sent::Done
    }

    /// Dispatches for the service of the worker, as `dispatch` does.
    pub(super) fn dispatch_to(&mut self, now: Duration, worker: WorkerRef, out: &mut impl Outbox) {
        if let Some(worker) = self.workers.get(worker) {
            self.dispatch(now, worker.service, out);
        }
    }

    /// Gives a request, which is in no list, to the worker that already has it. Without room there, the request waits
    /// for that worker.
    pub(super) fn give_holder(
        &mut self,
        now: Duration,
        key: usize,
        worker: WorkerRef,
        out: &mut impl Outbox,
    ) {
        let is_full = self.workers.get(worker).is_some_and(|worker| worker.is_full);
        match if is_full { Sent::Full } else { self.give(now, key, worker, false, out) } {
            Sent::Done => {}
            Sent::Never => self.give_up(key, Refusal::Malformed, TOO_LARGE, out),
            Sent::Full => self.keep(key, worker, false),
            // The next worker with room gets the request, once the notice of this worker's disconnect arrives.
            Sent::Gone => self.enqueue(key, true),
        }
    }

    /// Makes the request, which is in no list, wait for room at this worker, before or behind all others.
    fn keep(&mut self, key: usize, reference: WorkerRef, first: bool) {
        let entry = self.requests.reference(key);
        let (Some(request), Some(worker), Some(entry)) =
            (self.requests.get_mut(key), self.workers.get_mut(reference), entry)
        else {
            return;
        };
        request.state = RequestState::Kept { worker: reference };
        if first { worker.kept.push_front(entry) } else { worker.kept.push_back(entry) }
    }

    /// Gives a worker that had no room its kept requests, as far as it has room now.
    pub(super) fn give_kept(&mut self, now: Duration, worker: WorkerRef, out: &mut impl Outbox) {
        while let Some(found) = self.workers.get_mut(worker)
            && let Some(reference) = found.kept.pop_front()
        {
            let key = reference.key;
            if !self.requests.is(reference, RequestState::Kept { worker }) {
                continue;
            }
            self.unlist(key);
            match self.give(now, key, worker, false, out) {
                Sent::Done => {}
                Sent::Never => self.give_up(key, Refusal::Malformed, TOO_LARGE, out),
                Sent::Full => return self.keep(key, worker, true),
                Sent::Gone => self.enqueue(key, true),
            }
        }
    }

    /// Gives a request, which is in no list, to this worker. On failure the request stays in no list. `is_new_there`:
    /// the worker did not have the request before, so the count of deliveries grows.
    fn give(
        &mut self,
        now: Duration,
        key: usize,
        reference: WorkerRef,
        is_new_there: bool,
        out: &mut impl Outbox,
    ) -> Sent {
        let entry = self.requests.reference(key);
        let (Some(request), Some(worker), Some(entry)) =
            (self.requests.get_mut(key), self.workers.get_mut(reference), entry)
        else {
            return Sent::Gone;
        };
        let sent = if worker.has_room_again() { send(request, worker, out) } else { Sent::Full };
        match sent {
            Sent::Done => {
                request.state = RequestState::Dispatched { worker: reference, since: now };
                let is_one_more = request.deliveries > 0;
                request.deliveries = request.deliveries.saturating_add(u16::from(is_new_there));
                request.last_worker = Some(reference);
                request.other_holder = request.other_holder.filter(|other| *other != reference);
                request.is_repeated = true;
                // A worker that was too slow with the request still has it. The request counts once.
                let id = request.id;
                worker.told = now;
                worker.has.push_back(entry);
                if let Some(service) = self.services.get_mut(worker.service) {
                    service.counts.redeliveries += u64::from(is_one_more);
                    service.change(reference, worker, |worker| {
                        worker.outstanding += u32::from(!worker.remove_overdue(id));
                    });
                }
                self.requests.begin_run(key);
            }
            Sent::Full => {
                self.change_worker(reference, |worker| worker.is_full = true);
                self.full_workers.push_back(reference);
            }
            Sent::Never => {}
            // The notice of the disconnect follows.
            Sent::Gone => self.change_worker(reference, |worker| worker.drains = true),
        }
        sent
    }

    pub(super) fn change_worker(&mut self, reference: WorkerRef, change: impl FnOnce(&mut Worker)) {
        let Some(worker) = self.workers.get_mut(reference) else { return };
        if let Some(service) = self.services.get_mut(worker.service) {
            service.change(reference, worker, change);
        }
    }

    /// Removes a worker. Its requests go to other workers.
    pub(super) fn remove_worker(&mut self, now: Duration, reference: WorkerRef, out: &mut impl Outbox) {
        let Some(worker) = self.workers.remove(reference) else { return };
        if let Some(service) = self.services.get_mut(worker.service) {
            service.displace(reference, &worker);
        }
        if let Some(role) = self.peers.get_mut(&worker.routing_id) {
            *role = Role::New;
        }
        let found = worker.has.iter().chain(worker.kept.iter());
        let mut keys: Vec<usize> = found
            .filter(|found| self.requests.find(*found).is_some_and(|request| request.is_with(reference)))
            .map(|found| found.key)
            .collect();
        // The oldest request is to be the first again, and each request is listed once.
        keys.sort_by_key(|key| Reverse(self.requests.get(*key).map(|r| (r.arrived, r.id.number, *key))));
        keys.dedup();
        for key in keys {
            self.take_back(now, key, out);
        }
        self.dispatch(now, worker.service, out);
    }

    /// Takes a request back from a worker that does not answer. The request goes to another worker that already has it.
    /// Otherwise the request waits again: for a worker that may have it, or before all others. After its last permitted
    /// delivery the broker gives the request up.
    pub(super) fn take_back(&mut self, now: Duration, key: usize, out: &mut impl Outbox) {
        let mut has_begun = false;
        if let Some(request) = self.requests.get_mut(key) {
            request.waits_since = now;
            has_begun = request.parts.count > 0;
        }
        // The next worker begins the reply from the start.
        self.requests.begin_run(key);
        let Some(request) = self.requests.get(key) else { return };
        let Some(client) = self.clients.get(request.client).filter(|client| client.routing_id.is_some())
        else {
            // Another broker may have the request by now. If not, the client sends it again.
            self.unlist(key);
            return self.forget(key, out);
        };
        if has_begun && client.dialect == Dialect::Plain(Version::V02) {
            // The client would append the reply of the next worker to these parts. Plain MDP cannot tell it otherwise.
            return self.give_up(key, Refusal::GivenUp, "its worker is gone in the middle of the reply", out);
        }
        if let Some(holder) =
            request.other_holder.filter(|worker| self.workers.can_ask_again(*worker, request.service))
        {
            self.unlist(key);
            return self.give_holder(now, key, holder, out);
        }
        let limit = self.services.get(request.service).map_or(0, |service| service.limits.deliveries_max);
        if request.deliveries >= limit {
            let reason = format!("{limit} workers had the request, and none answered");
            self.give_up(key, Refusal::GivenUp, &reason, out);
        } else if request.is_from_elsewhere && now < self.options.held_until(request.arrived) {
            let id = request.id;
            self.unlist(key);
            self.hold(key, id, out);
        } else {
            self.unlist(key);
            self.enqueue(key, true);
        }
    }
}

fn send(request: &Request, worker: &Worker, out: &mut impl Outbox) -> Sent {
    match worker.dialect {
        Dialect::Plain(version) => {
            let address = Address::from(request.id);
            out.send(
                &worker.routing_id,
                mdp::worker_request(version, &address).frames(),
                request.body.frames(),
            )
        }
        Dialect::Hsn1 => {
            let header = Header::Request {
                request: request.id,
                first: request.first,
                lifetime_ms: 0,
                deliveries: request.deliveries,
                is_repeated: request.is_repeated,
                takes_runs: true,
            };
            with_body(header, None, request.body.frames(), |first, behind| {
                out.send(&worker.routing_id, &[first], behind)
            })
        }
    }
}
