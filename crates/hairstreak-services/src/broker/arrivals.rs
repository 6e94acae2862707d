//! Arrival of requests: a request is taken, given to the worker that already has it, or refused.

use std::time::Duration;

use hairstreak_base::{Body, Bytes};
use hairstreak_wire::hsn1::{Refusal, RequestId};
use hairstreak_wire::mdp::is_management;

use super::clients::Client;
use super::machine::Broker;
use super::permissions::NO_WRITE;
use super::requests::{Arrival, Place, RequestState, size_of_request};
use super::services::Asks;
use super::window::Slot;
use crate::outbox::Outbox;

/// A request as received.
pub(super) struct Asked {
    pub id: RequestId,
    pub first: u64,
    pub lifetime_ms: u32,
    pub is_repeated: bool,
    pub service: Bytes,
    pub body: Body,
}

impl Broker {
    /// Takes a request of a client whose first open number is known.
    pub(super) fn take_request(&mut self, now: Duration, client: usize, asked: Asked, out: &mut impl Outbox) {
        let (window_max, all_max) = (self.options.open_per_client_max, self.options.open_max);
        let Some(found) = self.clients.get(client) else { return };
        let number = asked.id.number;
        // Numbers below the first were answered, and the client knows the answers.
        if number < found.first() {
            return;
        }
        let slot = found.slot(number);
        let is_from_elsewhere = asked.is_repeated;
        let (holder, asked) = match slot {
            // The request is in progress.
            Slot::Open(_) | Slot::Unread => return,
            Slot::Unknown => (None, asked),
            Slot::With(worker) => (Some(worker), Asked { is_repeated: true, ..asked }),
        };
        if !self.clients.has_room(client, number, window_max, all_max) {
            return self.refuse(client, asked.id, Refusal::TooManyOpen, "too many requests are open", out);
        }
        let name = &asked.service;
        if is_management(name.as_bytes()) {
            return self.answer(now, client, asked.id, name.as_bytes(), asked.body.frames(), out);
        }
        let may_call = |client: &mut Client| client.caller.may_call(name.as_bytes(), self.permissions.gate());
        if !self.clients.get_mut(client).is_some_and(may_call) {
            return self.refuse(client, asked.id, Refusal::AccessRefused, NO_WRITE, out);
        }
        let Some(service) = self.services.open(&self.options, name.as_bytes(), Asks::Client) else {
            let reason = "the broker has as many services as it may";
            return self.refuse(client, asked.id, Refusal::Full, reason, out);
        };
        let size = size_of_request(&asked.body);
        let has_room = self.has_room_for(size);
        let Some(found) = self.services.get_mut(service) else { return };
        if !has_room || !found.has_room(size) {
            found.counts.refusals += 1;
            return self.refuse(client, asked.id, Refusal::Full, "as much waits for the service as may", out);
        }
        let client_bytes = self.clients.get(client).map_or(0, |client| client.open_bytes);
        if client_bytes.saturating_add(size) > self.options.bytes_per_client_max {
            found.counts.refusals += 1;
            let reason = "the client has as many bytes open as it may";
            return self.refuse(client, asked.id, Refusal::Full, reason, out);
        }
        found.open_count += 1;
        found.counts.requests += 1;
        let lifetime = Duration::from_millis(asked.lifetime_ms.into());
        let key = self.requests.insert(Arrival {
            id: asked.id,
            first: asked.first,
            service,
            client,
            body: asked.body,
            is_repeated: asked.is_repeated,
            is_from_elsewhere,
            arrived: now,
            expires: (asked.lifetime_ms > 0).then(|| now + lifetime),
        });
        self.clients.set(client, number, Slot::Open(key));
        if let Some(client) = self.clients.get_mut(client) {
            client.open_bytes += size;
            client.attend(out);
        }
        match holder.filter(|worker| self.workers.can_ask_again(*worker, service)) {
            Some(worker) => self.give_holder(now, key, worker, out),
            None if asked.is_repeated => self.hold(key, asked.id, out),
            None => {
                self.enqueue(key, false);
                self.dispatch(now, service, out);
            }
        }
    }

    /// Holds a request that was sent before until the worker that has it reports, if there is such a worker.
    pub(super) fn hold(&mut self, key: usize, id: RequestId, out: &mut impl Outbox) {
        if let Some((early, user)) = self.early.take(id)
            && let Some(request) = self.requests.get(key)
            && let Some(service) = self.services.get(request.service)
            && self.permissions.may_serve(user.as_deref(), &service.name)
        {
            return self.finish(key, Slot::Unknown, Place::WHOLE, early.frames(), out);
        }
        if let (Some(reference), Some(request)) = (self.requests.reference(key), self.requests.get_mut(key)) {
            request.state = RequestState::Holding;
            self.holding.push_back(reference);
        }
    }
}
