//! Roles of peers: peers become clients and workers, and lose these roles.

use std::time::Duration;

use hairstreak_wire::hsn1::{ClientId, Header, Refusal, RequestId};
use hairstreak_wire::mdp::{self, WorkerCommand, is_management};

use super::machine::{Broker, Expulsion, Role};
use super::permissions::NO_READ;
use super::requests::RequestState;
use super::services::Asks;
use super::workers::{Dialect, WorkerRef};
use crate::outbox::{Outbox, Sent};

/// Delay before a peer that would come back at once is told to go.
const EXPULSION_DELAY: Duration = Duration::from_secs(1);
/// Refusal of a worker above the limit, or for a service without room.
const NO_ROOM: &str = "no such service can have a worker here, or no more of them";
/// Refusal of a peer that had no room for an earlier one.
pub(super) const UNREAD: &str = "begin again: what was to be said was not read";
/// Most requests that a worker is given at a time, regardless of its announcement.
const CAPACITY_MAX: u32 = 65_536;

impl Broker {
    pub(super) fn role(&self, peer: &[u8]) -> Role {
        self.peers.get(peer).copied().unwrap_or(Role::New)
    }

    pub(super) fn worker_of(&self, peer: &[u8]) -> Option<WorkerRef> {
        match self.role(peer) {
            Role::Worker(worker) => Some(worker),
            _ => None,
        }
    }

    /// Adds a new worker. `announced` is its capacity, if its protocol can announce one. `None`: the peer may not be a
    /// worker, and was told so or will be.
    pub(super) fn add_worker(
        &mut self,
        now: Duration,
        peer: &[u8],
        service: &[u8],
        dialect: Dialect,
        announced: Option<u32>,
        out: &mut impl Outbox,
    ) -> Option<WorkerRef> {
        if self.role(peer) != Role::New {
            self.unexpected(now, peer, dialect, "READY of one that was", out);
            return None;
        }
        if !is_management(service) && !self.permissions.may_serve(self.permissions.gate().user(peer), service)
        {
            self.refuse_worker(now, peer, dialect, out);
            return None;
        }
        let may = !is_management(service) && self.workers.len() < self.options.workers_max;
        let place = if may { self.services.open(&self.options, service, Asks::Worker) } else { None };
        let Some(service) = place else {
            // The peer would come back at once, and again.
            self.expel(now, peer, dialect, NO_ROOM, out);
            return None;
        };
        let of_plain = self.services.get(service).map_or(1, |service| service.limits.plain_capacity.into());
        let capacity = announced.unwrap_or(of_plain).clamp(1, CAPACITY_MAX);
        let worker = self.workers.insert(now, peer, service, dialect, capacity);
        self.peers.insert(peer.into(), Role::Worker(worker));
        out.attend(peer, true);
        if let (Some(service), Some(found)) = (self.services.get_mut(service), self.workers.get_mut(worker)) {
            service.worker_count += 1;
            service.place(worker, found);
        }
        Some(worker)
    }

    /// Refuses a peer as a worker, new or existing. The peer is told the reason, and to go.
    pub(super) fn refuse_worker(
        &mut self,
        now: Duration,
        peer: &[u8],
        dialect: Dialect,
        out: &mut impl Outbox,
    ) {
        if dialect == Dialect::Hsn1 {
            // Number 0 belongs to no request: the refusal is about the worker.
            let request = RequestId { client: ClientId([0; 16]), number: 0 };
            let header = Header::Refused { request, refusal: Refusal::AccessRefused }.encode();
            out.send(peer, &[header.as_ref(), NO_READ.as_bytes()], &[]);
        }
        self.expel(now, peer, dialect, NO_READ, out);
    }

    /// Expels the peer: it is told to go after a delay. Its messages until then are dropped.
    pub(super) fn expel(
        &mut self,
        now: Duration,
        peer: &[u8],
        dialect: Dialect,
        reason: &'static str,
        out: &mut impl Outbox,
    ) {
        self.leave(now, peer, out);
        let when = now + EXPULSION_DELAY;
        self.peers.insert(peer.into(), Role::Expelled { when });
        self.expelled.push_back(Expulsion { when, peer: peer.into(), dialect, reason });
    }

    pub(super) fn expel_due(&mut self, now: Duration, out: &mut impl Outbox) {
        while self.expelled.front().is_some_and(|expulsion| expulsion.when <= now) {
            if let Some(Expulsion { when, peer, dialect, reason }) = self.expelled.pop_front()
                && self.role(&peer) == (Role::Expelled { when })
            {
                self.dismiss(now, &peer, dialect, reason, out);
            }
        }
    }

    /// Handles a valid command that this peer may not send now.
    pub(super) fn unexpected(
        &mut self,
        now: Duration,
        peer: &[u8],
        dialect: Dialect,
        reason: &str,
        out: &mut impl Outbox,
    ) {
        self.drops.malformed += 1;
        self.dismiss(now, peer, dialect, reason, out);
    }

    /// Tells a peer to begin again, and removes its role.
    pub(super) fn dismiss(
        &mut self,
        now: Duration,
        peer: &[u8],
        dialect: Dialect,
        reason: &str,
        out: &mut impl Outbox,
    ) {
        let sent = match dialect {
            Dialect::Plain(version) => {
                out.send(peer, mdp::worker_command(version, WorkerCommand::Disconnect).frames(), &[])
            }
            Dialect::Hsn1 => out.send(peer, &[Header::Disconnect.encode().as_ref(), reason.as_bytes()], &[]),
        };
        if sent == Sent::Full {
            self.expel(now, peer, dialect, UNREAD, out);
        } else {
            self.leave(now, peer, out);
        }
    }

    /// Removes the role of the peer. The peer stays connected.
    pub(super) fn leave(&mut self, now: Duration, peer: &[u8], out: &mut impl Outbox) {
        let role = self.role(peer);
        if let Some(known) = self.peers.get_mut(peer) {
            *known = Role::New;
        }
        out.attend(peer, false);
        self.end(now, role, out);
    }

    /// Ends a role.
    pub(super) fn end(&mut self, now: Duration, role: Role, out: &mut impl Outbox) {
        match role {
            Role::Worker(worker) => self.remove_worker(now, worker, out),
            Role::Client(client) => self.client_is_gone(now, client, out),
            Role::New | Role::Expelled { .. } => {}
        }
    }

    /// Moves the client to this peer, which had no role.
    pub(super) fn meet(&mut self, client: usize, peer: &[u8], out: &mut impl Outbox) {
        let Some(found) = self.clients.get_mut(client) else { return };
        let before = found.move_to(Some(peer), out);
        found.gone_since = None;
        found.caller.set_user(self.permissions.gate().user(peer));
        self.clients.end_departure(client);
        if let Some(before) = before.filter(|before| **before != *peer)
            && let Some(role) = self.peers.get_mut(&before)
        {
            *role = Role::New;
            out.attend(&before, false);
        }
        self.peers.insert(peer.into(), Role::Client(client));
        self.note_stalled(client);
    }

    /// Handles the disconnect of a client. A client that numbers its requests may come back to the requests that a
    /// worker has. It sends the other requests again, here or to another broker, so they are dropped here.
    fn client_is_gone(&mut self, now: Duration, client: usize, out: &mut impl Outbox) {
        let Some(found) = self.clients.get_mut(client) else { return };
        found.move_to(None, out);
        found.gone_since = Some(now);
        let uses_hsn1 = found.uses_hsn1();
        for key in found.open() {
            let state = self.requests.get(key).map(|request| request.state);
            if !matches!(state, Some(RequestState::Dispatched { .. } | RequestState::Kept { .. })) {
                self.forget(key, out);
            }
        }
        if !uses_hsn1 || self.clients.get(client).is_some_and(|client| client.is_blank()) {
            self.remove_client(client, out);
        }
        self.clients.note_departed(client);
    }

    /// Returns whether there is room for one more client. At the limit, the client with the longest absence and no open
    /// request is forgotten.
    pub(super) fn make_room_for_client(&mut self, out: &mut impl Outbox) -> bool {
        if self.clients.len() >= self.options.clients_max
            && let Some(client) = self.clients.next_to_forget()
        {
            self.remove_client(client, out);
        }
        self.clients.len() < self.options.clients_max
    }

    pub(super) fn remove_client(&mut self, client: usize, out: &mut impl Outbox) {
        for key in self.clients.get(client).map(|client| client.open()).unwrap_or_default() {
            self.forget(key, out);
        }
        self.clients.remove(client);
    }
}
