//! Commands of HSN1 at the broker.

use std::time::Duration;

use hairstreak_base::{Body, Bytes, Message};
use hairstreak_wire::hsn1::{self, BodyPlace, ClientId, Header, Part, Refusal, RequestId, ToBroker};

use super::arrivals::Asked;
use super::clients::Client;
use super::machine::{Broker, Role};
use super::members::UNREAD;
use super::replies::Answer;
use super::requests::Place;
use super::window::Slot;
use super::workers::{Dialect, WorkerRef};
use crate::outbox::{Outbox, Sent};

impl Broker {
    /// Takes a message of a peer that begins like an HSN1 message.
    pub(super) fn take_hsn1(&mut self, now: Duration, peer: &[u8], message: Message, out: &mut impl Outbox) {
        match hsn1::parse_to_broker(&message.as_frames()[1..]) {
            Ok(ToBroker::Request {
                request: id,
                first,
                lifetime_ms,
                is_repeated,
                takes_runs,
                service,
                body,
            }) => {
                let service = Bytes::copy_of(service);
                let body = body_of(message, body);
                let asked = Asked { id, first, lifetime_ms, is_repeated, service, body };
                self.take_hsn1_request(now, peer, asked, takes_runs, out);
            }
            Ok(ToBroker::Cancel(id)) => self.cancel(peer, id, out),
            Ok(ToBroker::Ready { capacity, service, held }) => {
                if let Some(worker) = self.add_worker(now, peer, service, Dialect::Hsn1, Some(capacity), out)
                {
                    self.note_held(now, worker, held, out);
                    self.dispatch_to(now, worker, out);
                }
            }
            Ok(ToBroker::Disconnect) => self.leave(now, peer, out),
            Ok(ToBroker::Reply(part)) => {
                let body = body_of(message, part.body);
                match self.worker_of(peer) {
                    Some(worker) => self.take_part(now, peer, worker, part, body, out),
                    None => self.take_part_early(now, peer, part, body, out),
                }
            }
            Ok(command) => match self.worker_of(peer) {
                Some(worker) => self.take_from_worker(now, worker, command, out),
                None => self.take_from_no_worker(now, peer, command, out),
            },
            Err(error) => {
                let frames = &message.as_frames()[1..];
                self.refuse_malformed(now, peer, frames, &error.to_string(), out);
            }
        }
    }

    /// Takes a reply of a worker that has a new connection but has not yet read WELCOME and sent READY. The worker
    /// finished a request of an earlier connection. READY lists the same request, so the broker asks again for a reply
    /// that it drops here.
    fn take_part_early(&mut self, now: Duration, peer: &[u8], part: Part, body: Body, out: &mut impl Outbox) {
        if matches!(self.role(peer), Role::Client(_)) {
            self.unexpected(now, peer, Dialect::Hsn1, "a reply of a client", out);
        } else if part.is_final && part.index == 0 {
            self.take_early(now, peer, part.request, body, out);
        } else {
            self.drops.late += 1;
        }
    }

    /// Takes any other command of such a worker, as `take_part_early` does for replies.
    fn take_from_no_worker(
        &mut self,
        now: Duration,
        peer: &[u8],
        command: ToBroker<'_>,
        out: &mut impl Outbox,
    ) {
        match command {
            _ if matches!(self.role(peer), Role::Client(_)) => {
                self.unexpected(now, peer, Dialect::Hsn1, "a command of a worker by a client", out);
            }
            ToBroker::Drain => {
                out.send(peer, &[Header::Drain.encode().as_ref()], &[]);
            }
            _ => self.drops.late += 1,
        }
    }

    fn take_part(
        &mut self,
        now: Duration,
        peer: &[u8],
        worker: WorkerRef,
        part: Part,
        body: Body,
        out: &mut impl Outbox,
    ) {
        let Part { request: id, index, run, is_final, .. } = part;
        let is_whole = is_final && index == 0;
        if is_whole && self.is_unheard(worker, id) {
            // A worker that leaves sends replies that another broker, or the predecessor of this one, did not get.
            return self.take_early(now, peer, id, body, out);
        }
        let place = Place { index: Some(index), run };
        let answer = Answer { id, place, is_final, is_whole, body: body.frames() };
        self.take_reply(now, worker, answer, out);
    }

    fn take_from_worker(
        &mut self,
        now: Duration,
        worker: WorkerRef,
        command: ToBroker<'_>,
        out: &mut impl Outbox,
    ) {
        match command {
            ToBroker::Refused { request, refusal, text } => {
                self.take_refusal(now, worker, request, refusal, text, out);
            }
            ToBroker::Held(held) => self.note_held(now, worker, held, out),
            // DRAIN: all other commands are handled above.
            _ => {
                self.change_worker(worker, |worker| worker.drains = true);
                if let Some(worker) = self.workers.get(worker) {
                    // All requests for the worker were sent before this message.
                    out.send(&worker.routing_id, &[Header::Drain.encode().as_ref()], &[]);
                }
            }
        }
    }

    /// Handles a malformed command. A request is refused; any other peer is told to disconnect.
    fn refuse_malformed(
        &mut self,
        now: Duration,
        peer: &[u8],
        frames: &[Bytes],
        reason: &str,
        out: &mut impl Outbox,
    ) {
        match frames.first().map(|header| Header::parse(header.as_bytes())) {
            Some(Ok((Header::Request { request, .. }, _))) if self.worker_of(peer).is_none() => {
                self.refuse_peer(now, peer, request, Refusal::Malformed, reason, out);
            }
            _ => self.unexpected(now, peer, Dialect::Hsn1, reason, out),
        }
    }

    /// Refuses the request of a peer that is not the client of the request. A peer without room for the refusal is
    /// expelled and begins again.
    fn refuse_peer(
        &mut self,
        now: Duration,
        peer: &[u8],
        request: RequestId,
        refusal: Refusal,
        reason: &str,
        out: &mut impl Outbox,
    ) {
        self.drops.malformed += u64::from(refusal == Refusal::Malformed);
        let header = Header::Refused { request, refusal }.encode();
        if out.send(peer, &[header.as_ref(), reason.as_bytes()], &[]) == Sent::Full {
            self.expel(now, peer, Dialect::Hsn1, UNREAD, out);
        }
    }

    fn take_hsn1_request(
        &mut self,
        now: Duration,
        peer: &[u8],
        asked: Asked,
        takes_runs: bool,
        out: &mut impl Outbox,
    ) {
        let client = match self.client_at(peer, asked.id.client, asked.first, out) {
            Ok(client) => client,
            Err(_) if self.worker_of(peer).is_some() => {
                return self.unexpected(now, peer, Dialect::Hsn1, "a request of a worker", out);
            }
            Err((refusal, reason)) => return self.refuse_peer(now, peer, asked.id, refusal, reason, out),
        };
        if let Some(client) = self.clients.get_mut(client) {
            client.takes_runs = takes_runs;
        }
        for key in self.clients.advance(client, asked.first, &self.options) {
            self.forget(key, out);
        }
        self.take_request(now, client, asked, out);
    }

    /// Returns the client with that id. The client is at this peer from now on.
    fn client_at(
        &mut self,
        peer: &[u8],
        id: ClientId,
        first: u64,
        out: &mut impl Outbox,
    ) -> Result<usize, (Refusal, &'static str)> {
        let is_it = |client: usize| self.clients.get(client).is_some_and(|client| client.id == id);
        match self.role(peer) {
            Role::Client(client) if is_it(client) => return Ok(client),
            Role::New => {}
            _ => return Err((Refusal::Malformed, "a connection is one client's")),
        }
        let user = self.permissions.gate().user(peer);
        let may_be_it = |client: &Client| client.uses_hsn1() && client.may_be_of(user);
        let client = match self.clients.find(id) {
            Some(client) if self.clients.get(client).is_some_and(may_be_it) => client,
            Some(_) => return Err((Refusal::Malformed, "the client's id is another's")),
            None if self.make_room_for_client(out) => self.clients.insert(id, Dialect::Hsn1, first),
            None => return Err((Refusal::Full, "the broker has as many clients as it may")),
        };
        self.meet(client, peer, out);
        Ok(client)
    }

    fn cancel(&mut self, peer: &[u8], id: RequestId, out: &mut impl Outbox) {
        if let Role::Client(client) = self.role(peer)
            && let Some(found) = self.clients.get(client)
            && found.id == id.client
            && let Slot::Open(key) = found.slot(id.number)
        {
            self.forget(key, out);
        }
    }
}

/// Returns the body of a command. The routing id is the first frame of the message.
fn body_of(message: Message, place: BodyPlace) -> Body {
    Body::new(message, 1 + place.index, place.start)
}
