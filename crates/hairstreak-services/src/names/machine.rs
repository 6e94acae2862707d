//! `Directory`: the state machine described in mod.rs.

use std::time::Duration;

use hairstreak_base::Bytes;
use hairstreak_wire::directory::{
    Endpoint, Envelope, ErrorCode, LIST_ENTRY_COUNT_MAX, Name, Owner, Registration, Reply, Request,
};

use super::entries::Entries;
use super::permissions::Permissions;
use super::waiters::{Waiter, Waiters};
use super::{Change, DirectoryOutbox, Options, Origin, Peer};
use crate::gate::Gate;
use crate::outbox::{Outbox, Sent};

/// Names, their holders, and waiting LOOKUPs.
///
/// `now` is the time since the driver started counting. It never runs backwards. Replies and changes go to the
/// [`DirectoryOutbox`] at once. A peer without room for a reply does not get it: the peer asks again if it still needs
/// one.
#[derive(Debug)]
pub struct Directory {
    options: Options,
    entries: Entries,
    waiters: Waiters,
    permissions: Permissions,
}

impl Directory {
    /// Returns a directory without names. Users may do everything that the gate allows.
    pub fn new(options: Options, gate: Box<dyn Gate>) -> Directory {
        let permissions = Permissions::new(gate);
        Directory { options, entries: Entries::new(), waiters: Waiters::new(), permissions }
    }

    /// Handles a message of `peer`. The frames do not include the routing id.
    pub fn handle_message(
        &mut self,
        now: Duration,
        peer: &Peer,
        frames: &[&[u8]],
        out: &mut impl DirectoryOutbox,
    ) {
        self.handle_timeout(now, out);
        match Request::decode(frames) {
            Ok((envelope, request)) => self.handle_request(now, peer, envelope, request, out),
            Err(refused) => send(peer, &refused.envelope, &refused.reply(), out),
        }
    }

    fn handle_request(
        &mut self,
        now: Duration,
        peer: &Peer,
        envelope: Envelope,
        request: Request,
        out: &mut impl DirectoryOutbox,
    ) {
        if let Some(refusal) = self.permissions.refuse(peer, &request) {
            return send(peer, &envelope, &refusal, out);
        }
        let reply = match request {
            Request::Register(registration) => self.register(now, peer, registration, out),
            Request::Unregister { name, owner } => self.unregister(name, owner, out),
            Request::Lookup { name, wait_ms } => {
                match self.lookup(now, Waiter { peer: peer.clone(), envelope, name }, wait_ms) {
                    Some(reply) => reply,
                    None => return,
                }
            }
            Request::List { prefix, after } => self.list(now, peer, &prefix, &after),
            Request::Ping => Reply::Ok { lease_ms: 0 },
        };
        send(peer, &envelope, &reply, out);
    }

    /// Handles the passing of time.
    pub fn handle_timeout(&mut self, now: Duration, out: &mut impl DirectoryOutbox) {
        while let Some(name) = self.entries.pop_expired(now) {
            out.changed(&Change::Expired { name });
        }
        while let Some(Waiter { peer, envelope, name }) = self.waiters.pop_due(now) {
            send(&peer, &envelope, &Reply::NotFound { name }, out);
        }
    }

    /// Handles the end of a peer's connection. All its messages were handled before. Its LOOKUPs are dropped, and its
    /// names become orphans.
    pub fn handle_gone(&mut self, now: Duration, peer: &Peer) {
        self.waiters.remove_of_peer(peer);
        self.entries.orphan(peer, now + milliseconds(self.options.orphan_lease_max_ms));
    }

    /// Returns the time at which [`Directory::handle_timeout`] is due. `None`: only after another event.
    pub fn next_timeout(&self) -> Option<Duration> {
        [self.entries.first_lease_end(), self.waiters.first_deadline()].into_iter().flatten().min()
    }

    /// Returns the number of names.
    pub fn entry_count(&self) -> usize {
        self.entries.count()
    }

    /// Returns the number of waiting LOOKUPs.
    pub fn waiter_count(&self) -> usize {
        self.waiters.count()
    }

    fn register(
        &mut self,
        now: Duration,
        peer: &Peer,
        registration: Registration,
        out: &mut impl DirectoryOutbox,
    ) -> Reply {
        if let Some(refusal) = self.refuse(peer, &registration) {
            return refusal;
        }
        let name = registration.name.clone();
        let before = self.entries.find(&name);
        let endpoint = registration.endpoint.clone();
        let change = match before {
            None => Some(Change::Registered { name: name.clone(), endpoint }),
            Some(entry) if entry.owner != registration.owner || entry.endpoint != endpoint => {
                Some(Change::Moved { name: name.clone(), endpoint })
            }
            Some(_) => None,
        };
        let lease_ms = match registration.lease_ms {
            0 => self.options.lease_ms,
            asked => asked.min(self.options.lease_max_ms),
        };
        let is_new = before.is_none();
        if before.is_none_or(|entry| entry.owner != registration.owner) {
            self.make_room(peer.origin, is_new, out);
        }
        self.entries.put(registration, peer.clone(), now + milliseconds(lease_ms));
        if let Some(change) = change {
            out.changed(&change);
        }
        if is_new {
            self.answer_waiters(&name, out);
        }
        Reply::Ok { lease_ms }
    }

    /// Returns the refusal if this client may not have this name.
    fn refuse(&self, peer: &Peer, registration: &Registration) -> Option<Reply> {
        let Registration { name, owner, .. } = registration;
        match self.entries.find(name) {
            Some(entry) if entry.owner == *owner => None,
            Some(entry) if entry.peer.is_some() => {
                Some(Reply::Duplicate { name: name.clone(), endpoint: entry.endpoint.clone() })
            }
            before => self.refuse_entry(owner, peer, before.is_none()),
        }
    }

    /// Returns the refusal if this client may have no further entry. `is_new`: the entry replaces none.
    fn refuse_entry(&self, owner: &Owner, peer: &Peer, is_new: bool) -> Option<Reply> {
        let refuse = |text: String| Some(Reply::error(ErrorCode::Limit, &text));
        let Options { entries_max, entries_per_client_max, entries_per_origin_max, .. } = self.options;
        let count = self.entries.count_of_owner(owner).max(self.entries.count_of_peer(peer));
        if count >= entries_per_client_max {
            return refuse(format!("this client holds {count} names, the limit is {entries_per_client_max}"));
        }
        let count = self.entries.count_of_origin(peer.origin);
        if count >= entries_per_origin_max && self.entries.first_orphan_of(peer.origin).is_none() {
            return refuse(format!(
                "this address holds {count} names, the limit is {entries_per_origin_max}"
            ));
        }
        if is_new && self.entries.count() >= entries_max && self.entries.first_orphan().is_none() {
            return refuse(format!("the directory is full with {entries_max} names"));
        }
        None
    }

    /// Ends orphans if one more entry would exceed a limit.
    fn make_room(&mut self, origin: Origin, is_new: bool, out: &mut impl DirectoryOutbox) {
        let Options { entries_max, entries_per_origin_max, .. } = self.options;
        if self.entries.count_of_origin(origin) >= entries_per_origin_max {
            self.expire(self.entries.first_orphan_of(origin).cloned(), out);
        }
        if is_new && self.entries.count() >= entries_max {
            self.expire(self.entries.first_orphan().cloned(), out);
        }
    }

    fn expire(&mut self, name: Option<Name>, out: &mut impl DirectoryOutbox) {
        if let Some(name) = name {
            self.entries.remove(&name);
            out.changed(&Change::Expired { name });
        }
    }

    fn answer_waiters(&mut self, name: &Name, out: &mut impl Outbox) {
        for Waiter { peer, envelope, .. } in self.waiters.take_of_name(name) {
            // Permissions may have changed since the peer began to wait.
            let refusal = self.permissions.refuse_look_up(&peer, name);
            if let Some(reply) = refusal.or_else(|| self.found(name)) {
                send(&peer, &envelope, &reply, out);
            }
        }
    }

    fn unregister(&mut self, name: Name, owner: Owner, out: &mut impl DirectoryOutbox) -> Reply {
        match self.entries.find(&name) {
            None => Reply::NotFound { name },
            Some(entry) if entry.owner != owner => {
                Reply::Duplicate { name, endpoint: entry.endpoint.clone() }
            }
            Some(_) => {
                self.entries.remove(&name);
                out.changed(&Change::Unregistered { name });
                Reply::Ok { lease_ms: 0 }
            }
        }
    }

    /// Returns the reply. `None`: the reply comes with the name, or at the end of the wait.
    fn lookup(&mut self, now: Duration, waiter: Waiter, wait_ms: u32) -> Option<Reply> {
        if let Some(found) = self.found(&waiter.name) {
            return Some(found);
        }
        if wait_ms == 0 {
            return Some(Reply::NotFound { name: waiter.name });
        }
        if let Some(limit) = self.waiters_limit(&waiter.peer) {
            let text = format!("{limit} lookups wait already, the limit is reached");
            return Some(Reply::error(ErrorCode::Limit, &text));
        }
        self.waiters.add(waiter, now + milliseconds(wait_ms.min(self.options.wait_max_ms)));
        None
    }

    /// Returns the limit that keeps a LOOKUP of this peer from waiting.
    fn waiters_limit(&self, peer: &Peer) -> Option<usize> {
        let Options { waiters_max, waiters_per_peer_max, waiters_per_origin_max, .. } = self.options;
        let limits = [
            (self.waiters.count(), waiters_max),
            (self.waiters.count_from(peer.origin), waiters_per_origin_max),
            (self.waiters.count_of(peer), waiters_per_peer_max),
        ];
        limits.into_iter().find(|(count, max)| count >= max).map(|(_, max)| max)
    }

    fn found(&self, name: &Name) -> Option<Reply> {
        let entry = self.entries.find(name)?;
        Some(Reply::Found {
            name: name.clone(),
            endpoint: entry.endpoint.clone(),
            attributes: entry.attributes.clone(),
        })
    }

    fn list(&mut self, now: Duration, peer: &Peer, prefix: &str, after: &str) -> Reply {
        let mut view = self.permissions.view(now, peer);
        let mut names = self.entries.list(prefix, after).filter(|(name, _)| view.shows(name));
        let entries: Vec<(Name, Endpoint)> =
            names.by_ref().take(LIST_ENTRY_COUNT_MAX).map(|(name, at)| (name.clone(), at.clone())).collect();
        let more = names.next().is_some();
        drop(names);
        view.refusal().unwrap_or(Reply::List { more, entries })
    }
}

fn send(peer: &Peer, envelope: &Envelope, reply: &Reply, out: &mut impl Outbox) {
    let frames: Vec<Bytes> = reply.encode(envelope).into_iter().map(Bytes::from_vec).collect();
    // A peer that is gone or has no room gets no reply.
    let _: Sent = out.send(&peer.routing_id, &[], &frames);
}

fn milliseconds(count: u32) -> Duration {
    Duration::from_millis(u64::from(count))
}
