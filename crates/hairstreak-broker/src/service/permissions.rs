//! What users may do here: call a service (write), be its worker (read), and see it (either, or configure).

use std::time::Duration;

use hairstreak_base::Bytes;
use hairstreak_wire::numbered::{ClientId, Header, Refusal, RequestId};

use super::broker::Broker;
use super::workers::Dialect;
use crate::gate::Operation;
use crate::outbox::Outbox;

/// What a worker is told that may not be one.
const NO_READ: &str = "the user may not serve this service: that needs read permission for its name";
/// What a client is told.
const NO_WRITE: &str = "the user may not call this service: that needs write permission for its name";

impl Broker {
    /// Whether the client may call the service; if not, it was told so.
    pub(super) fn may_call(
        &mut self,
        client: usize,
        id: RequestId,
        service: &Bytes,
        out: &mut impl Outbox,
    ) -> bool {
        let Some(found) = self.clients.get_mut(client) else { return false };
        let may = found.caller.may_call(service.as_bytes(), &*self.gate);
        if !may {
            self.refuse(client, id, Refusal::AccessRefused, NO_WRITE, out);
        }
        may
    }

    /// Whether that user, if it is one, may be a worker of the service, and so reply to its requests.
    pub(super) fn may_serve(&self, user: Option<&str>, service: &[u8]) -> bool {
        user.is_none_or(|user| self.gate.allows(user, Operation::Read, service))
    }

    /// The same of a service by its place.
    pub(super) fn may_serve_at(&self, user: Option<&str>, service: usize) -> bool {
        user.is_none() || self.services.get(service).is_some_and(|found| self.may_serve(user, &found.name))
    }

    /// Whether that user, if it is one, may know of the service.
    pub(super) fn shows(&self, user: Option<&str>, service: &[u8]) -> bool {
        user.is_none_or(|user| self.gate.shows(user, service))
    }

    /// A peer may not be a worker, or no longer: it is told so, and to go.
    pub(super) fn refuse_worker(
        &mut self,
        now: Duration,
        peer: &[u8],
        dialect: Dialect,
        out: &mut impl Outbox,
    ) {
        if dialect == Dialect::Numbered {
            // Number 0 is no request's: the refusal is about the worker.
            let request = RequestId { client: ClientId([0; 16]), number: 0 };
            let header = Header::Refused { request, refusal: Refusal::AccessRefused }.encode();
            out.send(peer, &[header.as_ref(), NO_READ.as_bytes()], &[]);
        }
        self.expel(now, peer, dialect, NO_READ, out);
    }

    /// After a change of permissions, workers that may not be any more have to go.
    pub(super) fn look_at_permissions(&mut self, now: Duration, out: &mut impl Outbox) {
        let generation = self.gate.generation();
        if std::mem::replace(&mut self.gate_generation, generation) == generation {
            return;
        }
        let may_not = self.workers.all().filter(|(_, worker)| {
            let user = self.gate.user(&worker.routing_id);
            !self.may_serve_at(user, worker.service)
        });
        let may_not: Vec<_> =
            may_not.map(|(_, worker)| (worker.routing_id.clone(), worker.dialect)).collect();
        for (peer, dialect) in may_not {
            self.refuse_worker(now, &peer, dialect, out);
        }
    }
}
