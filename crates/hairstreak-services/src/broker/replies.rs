//! Replies and refusals of workers, on their way to clients.

use std::time::Duration;

use hairstreak_base::Bytes;
use hairstreak_wire::hsn1::{Header, Refusal, RequestId, with_body};
use hairstreak_wire::mdp::{self, Version};

use super::machine::Broker;
use super::requests::{Place, Request, RequestState, size_of_frames};
use super::window::Slot;
use super::workers::{Dialect, Worker, WorkerRef};
use crate::outbox::Outbox;

/// Most frames of the parts of one reply that are gathered for a client of MDP 0.1, which takes one message only.
const GATHERED_COUNT_MAX: usize = mdp::BODY_FRAME_COUNT_MAX;

/// A reply of a worker, or a part of a reply.
#[derive(Clone, Copy)]
pub(super) struct Answer<'a> {
    pub id: RequestId,
    pub place: Place,
    pub is_final: bool,
    /// Set if no part can have come before.
    pub is_whole: bool,
    pub body: &'a [Bytes],
}

impl Broker {
    /// Takes a reply of a worker, or a part of one.
    pub(super) fn take_reply(
        &mut self,
        now: Duration,
        worker: WorkerRef,
        answer: Answer<'_>,
        out: &mut impl Outbox,
    ) {
        let Some(key) = self.answered_by(worker, answer.id, answer.is_whole) else {
            return self.take_late(now, worker, answer.id, answer.is_final, out);
        };
        let request = self.requests.get(key).filter(|request| request.is_behind_gap(answer.place));
        let client = request.and_then(|request| self.clients.get(request.client));
        if client.is_some_and(|client| !client.uses_hsn1()) {
            // A client that numbers its requests finds the gap by itself. The gap exists because the worker continued
            // on a new connection a reply that it began on another one.
            if answer.is_final {
                self.free(now, worker, answer.id);
                self.unlist(key);
                self.give_holder(now, key, worker, out);
            }
            return;
        }
        if !answer.is_final {
            return self.pass_part(key, worker, answer.place, answer.body, out);
        }
        self.free(now, worker, answer.id);
        let has_it = self.requests.get(key).is_some_and(|request| request.is_with(worker));
        let waits = |worker: &&Worker| worker.dialect != Dialect::Hsn1 && worker.outstanding == 0;
        let waiting = self.workers.get(worker).filter(waits).filter(|_| has_it);
        if let Some(service) = waiting.map(|worker| worker.service) {
            // The worker is idle until it has another request. The client gets its reply soon enough after that.
            self.deal(now, service, out);
        }
        self.finish(key, Slot::With(worker), answer.place, answer.body, out);
        self.dispatch_to(now, worker, out);
    }

    /// Takes a worker's refusal, with its reason.
    pub(super) fn take_refusal(
        &mut self,
        now: Duration,
        worker: WorkerRef,
        id: RequestId,
        refusal: Refusal,
        text: &[u8],
        out: &mut impl Outbox,
    ) {
        let Some(key) = self.answered_by(worker, id, false) else {
            return self.take_late(now, worker, id, true, out);
        };
        self.free(now, worker, id);
        self.give_up(key, refusal, &String::from_utf8_lossy(text), out);
        self.dispatch_to(now, worker, out);
    }

    /// Returns the key of that request if the worker has it. With `is_whole` it also suffices that the request was
    /// taken from this slow worker and no other worker has it.
    fn answered_by(&self, worker: WorkerRef, id: RequestId, is_whole: bool) -> Option<usize> {
        let key = self.open_key(id)?;
        let request = self.requests.get(key)?;
        match request.state {
            RequestState::Dispatched { worker: has, .. } => has == worker,
            _ => is_whole && self.workers.get(worker)?.overdue.contains(&id),
        }
        .then_some(key)
    }

    /// Returns the key of that request if it is open.
    pub(super) fn open_key(&self, id: RequestId) -> Option<usize> {
        match self.clients.get(self.clients.find(id.client)?)?.slot(id.number) {
            Slot::Open(key) => Some(key),
            _ => None,
        }
    }

    /// Returns whether this broker never gave the worker that request and never had it, while its client may still send
    /// it.
    pub(super) fn is_unheard(&self, worker: WorkerRef, id: RequestId) -> bool {
        if self.workers.get(worker).is_none_or(|worker| worker.overdue.contains(&id)) {
            return false;
        }
        match self.clients.find(id.client).and_then(|client| self.clients.get(client)) {
            Some(client) => id.number >= client.first() && client.slot(id.number) == Slot::Unknown,
            None => true,
        }
    }

    /// Notes that the worker has answered a request of its own, overdue or not, and has room for another.
    fn free(&mut self, now: Duration, worker: WorkerRef, id: RequestId) {
        self.change_worker(worker, |worker| {
            worker.answered = now;
            worker.remove_overdue(id);
            worker.outstanding = worker.outstanding.saturating_sub(1);
        });
    }

    /// Handles a reply to a request that the worker does not have, or no longer has.
    fn take_late(
        &mut self,
        now: Duration,
        worker: WorkerRef,
        id: RequestId,
        is_final: bool,
        out: &mut impl Outbox,
    ) {
        self.drops.late += 1;
        if is_final && self.workers.get(worker).is_some_and(|worker| worker.overdue.contains(&id)) {
            self.free(now, worker, id);
            self.dispatch_to(now, worker, out);
        }
    }

    fn pass_part(
        &mut self,
        key: usize,
        worker: WorkerRef,
        place: Place,
        body: &[Bytes],
        out: &mut impl Outbox,
    ) {
        let Some(request) = self.requests.get_mut(key) else { return };
        let index = place.index.unwrap_or(request.parts.count);
        let run = place.run.unwrap_or(request.parts.run);
        request.parts.count = index.saturating_add(1);
        let (id, client, service) = (request.id, request.client, request.service);
        let gathered_count = request.gathered.len();
        let is_taken = match self.clients.get(client).map(|client| client.dialect) {
            Some(Dialect::Hsn1) => {
                let run = Some(run).filter(|_| self.clients.takes_runs(client));
                with_body(Header::Partial { request: id, index, run }, None, body, |first, behind| {
                    self.send_reply(client, None, &[first], behind, out)
                })
            }
            Some(Dialect::Plain(Version::V02)) => {
                let Some(name) = self.services.get(service).map(|service| service.name.clone()) else {
                    return;
                };
                let head = mdp::client_reply(Version::V02, &name, false);
                self.send_reply(client, None, head.frames(), body, out)
            }
            Some(Dialect::Plain(Version::V01)) => {
                let has_room = gathered_count + body.len() <= GATHERED_COUNT_MAX
                    && self.has_room_for(size_of_frames(body));
                if has_room {
                    self.requests.gather(key, body);
                }
                has_room
            }
            None => true,
        };
        if !is_taken {
            // A reply with a missing part is invalid.
            self.take_away(key, worker, out);
            if let Some(service) = self.services.get_mut(service) {
                service.counts.refusals += 1;
            }
            self.remove(key);
            self.refuse_rest(client, id, out);
        }
    }

    /// Handles a whole reply, or its last part. `holder` is the worker that still has the reply.
    pub(super) fn finish(
        &mut self,
        key: usize,
        holder: Slot,
        place: Place,
        body: &[Bytes],
        out: &mut impl Outbox,
    ) {
        let gathered = self.requests.take_gathered(key);
        let Some(request) = self.requests.get(key) else { return };
        let (id, client, service) = (request.id, request.client, request.service);
        let index = place.index.unwrap_or(request.parts.count);
        let run = place.run.unwrap_or(request.parts.run);
        let Some(service) = self.services.get_mut(service) else { return };
        service.counts.replies += 1;
        let name = service.name.clone();
        self.remove(key);
        match self.clients.get(client).map(|client| client.dialect) {
            Some(Dialect::Hsn1) => {
                let answers = Some((id.number, holder));
                // A whole reply needs no run.
                let run = Some(run).filter(|_| index > 0 && self.clients.takes_runs(client));
                let is_taken =
                    with_body(Header::Final { request: id, index, run }, None, body, |first, behind| {
                        self.send_reply(client, answers, &[first], behind, out)
                    });
                if !is_taken && index > 0 {
                    self.refuse_rest(client, id, out);
                }
            }
            Some(Dialect::Plain(version)) => {
                let head = mdp::client_reply(version, &name, true);
                let answers = Some((id.number, Slot::Unknown));
                if gathered.is_empty() {
                    self.send_reply(client, answers, head.frames(), body, out);
                } else {
                    let body = [&gathered[..], body].concat();
                    self.send_reply(client, answers, head.frames(), &body, out);
                }
            }
            None => {}
        }
    }

    /// Gives up a request: there is no reply.
    pub(super) fn give_up(&mut self, key: usize, refusal: Refusal, reason: &str, out: &mut impl Outbox) {
        let Some(request) = self.remove(key) else { return };
        if let Some(service) = self.services.get_mut(request.service) {
            service.counts.refusals += 1;
        }
        self.refuse(request.client, request.id, refusal, reason, out);
    }

    /// Drops a request whose reply is no longer wanted.
    pub(super) fn forget(&mut self, key: usize, out: &mut impl Outbox) {
        if let Some(RequestState::Dispatched { worker, .. }) = self.requests.get(key).map(|r| r.state) {
            self.take_away(key, worker, out);
        }
        self.remove(key);
    }

    /// Takes the request from the worker, and tells it so. The request counts as the worker's until the worker sends
    /// something about it.
    pub(super) fn take_away(&mut self, key: usize, worker: WorkerRef, out: &mut impl Outbox) {
        self.unlist(key);
        let Some(id) = self.requests.get(key).map(|request| request.id) else { return };
        if let Some(found) = self.workers.get(worker)
            && found.dialect == Dialect::Hsn1
        {
            let header = Header::Cancel { request: id }.encode();
            out.send(&found.routing_id, &[header.as_ref()], &[]);
        }
        self.change_worker(worker, |found| {
            found.overdue.insert(id);
        });
    }

    /// Removes the request. Its last worker may still have a reply.
    fn remove(&mut self, key: usize) -> Option<Request> {
        self.unlist(key);
        let request = self.requests.remove(key)?;
        if let Some(service) = self.services.get_mut(request.service) {
            service.open_count -= 1;
        }
        if let Some(client) = self.clients.get_mut(request.client) {
            client.open_bytes -= request.size();
            let worker = request.last_worker.filter(|_| client.uses_hsn1());
            let slot = worker.map_or(Slot::Unknown, Slot::With);
            self.clients.set(request.client, request.id.number, slot);
            self.clients.note_departed(request.client);
        }
        Some(request)
    }

    /// Tells the client that there is no reply. Plain MDP has no command for it.
    pub(super) fn refuse(
        &mut self,
        client: usize,
        request: RequestId,
        refusal: Refusal,
        reason: &str,
        out: &mut impl Outbox,
    ) {
        let Some(found) = self.clients.get(client) else { return };
        if found.uses_hsn1() {
            let header = Header::Refused { request, refusal }.encode();
            let (window_max, all_max) = (self.options.open_per_client_max, self.options.open_max);
            let has_place = self.clients.has_room(client, request.number, window_max, all_max);
            // A worker may still have a reply.
            let answers = has_place.then(|| (request.number, found.slot(request.number)));
            self.send_reply(client, answers, &[header.as_ref(), reason.as_bytes()], &[], out);
        } else {
            self.drops.refused += 1;
        }
    }
}
