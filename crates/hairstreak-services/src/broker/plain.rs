//! Commands of plain MDP at the broker.

use std::time::Duration;

use hairstreak_base::{Body, Message};
use hairstreak_wire::hsn1::RequestId;
use hairstreak_wire::mdp::{self, Address, FromClient, FromPeer, FromWorker, MdpError, Version};

use super::arrivals::Asked;
use super::machine::{Broker, Role};
use super::replies::Answer;
use super::requests::Place;
use super::workers::{Dialect, Worker, WorkerRef};
use crate::outbox::Outbox;

impl Broker {
    /// Takes a message of a peer that does not begin like an HSN1 message.
    pub(super) fn take_plain(&mut self, now: Duration, peer: &[u8], message: Message, out: &mut impl Outbox) {
        let frames = &message.as_frames()[1..];
        match mdp::parse(frames) {
            Ok(FromPeer::Client(FromClient { version, body_index, .. })) => {
                self.take_plain_request(now, peer, version, 1 + body_index, message, out);
            }
            Ok(FromPeer::Worker(version, command)) => {
                self.take_plain_command(now, peer, version, command, &message, out);
            }
            Err(_) => {
                self.drops.malformed += 1;
                if let Some(version) = MdpError::worker_version(frames) {
                    self.dismiss(now, peer, Dialect::Plain(version), "", out);
                }
            }
        }
    }

    fn take_plain_request(
        &mut self,
        now: Duration,
        peer: &[u8],
        version: Version,
        body_index: usize,
        message: Message,
        out: &mut impl Outbox,
    ) {
        let dialect = Dialect::Plain(version);
        let client = match self.role(peer) {
            Role::Client(client) => client,
            Role::New if self.make_room_for_client(out) => {
                let id = self.plain_client_id();
                let client = self.clients.insert(id, dialect, 1);
                self.meet(client, peer, out);
                client
            }
            Role::New | Role::Expelled { .. } => return self.drops.refused += 1,
            Role::Worker(_) => return self.unexpected(now, peer, dialect, "a request of a worker", out),
        };
        let Some(found) = self.clients.get_mut(client) else { return };
        if found.uses_hsn1() {
            return self.drops.malformed += 1;
        }
        found.dialect = dialect;
        let id = RequestId { client: found.id, number: found.next_number() };
        let first = found.first();
        let service = message.as_frames()[body_index - 1].clone();
        let body = Body::new(message, body_index, 0);
        self.take_request(
            now,
            client,
            Asked { id, first, lifetime_ms: 0, is_repeated: false, service, body },
            out,
        );
    }

    /// Returns whether the worker has requests, but not this one. Its lost request would never be answered.
    fn is_busy_with_another(&self, worker: WorkerRef, id: Option<RequestId>) -> bool {
        let has_it = |found: &Worker| {
            id.is_some_and(|id| {
                found.overdue.contains(&id)
                    || self
                        .open_key(id)
                        .and_then(|key| self.requests.get(key))
                        .is_some_and(|r| r.is_with(worker))
            })
        };
        self.workers.get(worker).is_some_and(|found| found.outstanding > 0 && !has_it(found))
    }

    fn take_plain_command(
        &mut self,
        now: Duration,
        peer: &[u8],
        version: Version,
        command: FromWorker<'_>,
        message: &Message,
        out: &mut impl Outbox,
    ) {
        let dialect = Dialect::Plain(version);
        let worker = self.worker_of(peer);
        if let Some(worker) = worker {
            self.workers.note_heard(now, worker);
        }
        match (command, worker) {
            (FromWorker::Ready { service }, _) => {
                if let Some(worker) = self.add_worker(now, peer, service, dialect, None, out) {
                    self.dispatch_to(now, worker, out);
                }
            }
            (FromWorker::Reply { is_final, address, body_index }, Some(worker)) => {
                let body = &message.as_frames()[1 + body_index..];
                let id = Address::parse(address);
                if is_final && self.is_busy_with_another(worker, id) {
                    return self.unexpected(now, peer, dialect, "", out);
                }
                let Some(id) = id else { return self.drops.late += 1 };
                let is_whole = version == Version::V01;
                let place = Place { index: None, run: None };
                self.take_reply(now, worker, Answer { id, place, is_final, is_whole, body }, out);
            }
            (FromWorker::Heartbeat, Some(_)) => {}
            (FromWorker::Reply { address, body_index, .. }, None) => {
                // In 0.2, earlier parts may have gone to the other broker.
                if let Some(id) = Address::parse(address).filter(|_| version == Version::V01) {
                    let reply = Body::new(message.clone(), 1 + body_index, 0);
                    self.take_early(now, peer, id, reply, out);
                }
                self.unexpected(now, peer, dialect, "", out);
            }
            (FromWorker::Heartbeat, None) => self.unexpected(now, peer, dialect, "", out),
            (FromWorker::Disconnect, _) => self.leave(now, peer, out),
        }
    }
}
