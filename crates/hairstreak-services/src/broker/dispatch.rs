//! Requests to workers: the least busy one that has room gets the oldest, unless its client does not read. What a worker has
//! from before goes to that one alone.

use std::cmp::Reverse;
use std::time::Duration;

use hairstreak_wire::hsn1::{Header, Refusal, with_body};
use hairstreak_wire::mdp::{self, Address, Version};

use super::machine::{Broker, Role};
use super::requests::{Request, RequestState};
use super::workers::{Dialect, Worker, WorkerRef};
use crate::outbox::{Outbox, Sent};

/// Requests that a worker is given at a time, before others get some.
const SHARE_COUNT_MAX: usize = 128;
/// Why a request cannot be given to any worker.
const TOO_LARGE: &str = "the request has more frames or bytes than can go to its worker";

impl Broker {
    /// The request waits for a worker, before all others or behind them. It is in no other list.
    pub(super) fn enqueue(&mut self, key: usize, first: bool) {
        let Some(service) = self.requests.get(key).map(|request| request.service) else { return };
        if let Some(service) = self.services.get_mut(service) {
            service.enqueue(&mut self.requests, key, first);
        }
    }

    /// Takes a request out of whichever list it is in.
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

    /// Gives what waits to whoever has room: at once, or when all messages of a batch are taken.
    pub(super) fn dispatch(&mut self, now: Duration, service: usize, out: &mut impl Outbox) {
        if !self.batch.is_open {
            self.deal(now, service, out);
        } else if let Some(found) = self.services.get_mut(service)
            && !std::mem::replace(&mut found.is_noted, true)
        {
            self.batch.noted.push(service);
        }
    }

    /// All messages of a batch are taken: looks at the services that they were about.
    pub fn end_batch(&mut self, now: Duration, out: &mut impl Outbox) {
        self.batch.is_open = false;
        while let Some(service) = self.batch.noted.pop() {
            if let Some(found) = self.services.get_mut(service) {
                found.is_noted = false;
            }
            self.deal(now, service, out);
        }
    }

    /// Gives each worker that has room its share, the least busy first: several at a time are one write, and wake it once.
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

    /// Gives a request, which is in no list, to a worker that is new to it; or it waits before all others. Returns whether the
    /// worker has it.
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

    /// As `dispatch`, for the worker's service.
    pub(super) fn dispatch_to(&mut self, now: Duration, worker: WorkerRef, out: &mut impl Outbox) {
        if let Some(worker) = self.workers.get(worker) {
            self.dispatch(now, worker.service, out);
        }
    }

    /// Gives a request, which is in no list, to the worker that has it from before. It waits if that has no room.
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
            // Whoever comes next has it, once the worker's notice is here.
            Sent::Gone => self.enqueue(key, true),
        }
    }

    /// The request, which is in no list, waits for room at this worker, before all others or behind them.
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

    /// Gives a worker that had no room what was kept for it, as far as it has room now.
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

    /// Gives a request, which is in no list and stays so if it cannot be given, to this worker. `is_new_there`: it did not have it
    /// from before, so that it is one more of those that had it.
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
                // One that was too slow with it has it still: it counts once.
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
            // Its notice is on the way.
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

    /// A worker goes: what it had goes to others.
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
        // The oldest is to be the first again, and each is there once.
        keys.sort_by_key(|key| Reverse(self.requests.get(*key).map(|r| (r.arrived, r.id.number, *key))));
        keys.dedup();
        for key in keys {
            self.take_back(now, key, out);
        }
        self.dispatch(now, worker.service, out);
    }

    /// A request whose worker does not answer: it goes to another one that has it already, waits again, for
    /// whoever may have it or before all others, or has been given to as many as it may.
    pub(super) fn take_back(&mut self, now: Duration, key: usize, out: &mut impl Outbox) {
        let mut has_begun = false;
        if let Some(request) = self.requests.get_mut(key) {
            request.waits_since = now;
            has_begun = request.parts.count > 0;
        }
        // The next worker begins the reply anew.
        self.requests.begin_run(key);
        let Some(request) = self.requests.get(key) else { return };
        let Some(client) = self.clients.get(request.client).filter(|client| client.routing_id.is_some())
        else {
            // Another broker may have it by now; if not, it comes again.
            self.unlist(key);
            return self.forget(key, out);
        };
        if has_begun && client.dialect == Dialect::Plain(Version::V02) {
            // Its client would take what the next one says for the rest of the reply, and cannot be told.
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
