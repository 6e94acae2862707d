//! `Waiters`: LOOKUPs of names that do not exist yet, indexed by name, by peer and by deadline.

use std::collections::HashMap;
use std::time::Duration;

use hairstreak_base::Index;
use hairstreak_wire::directory::{Envelope, Name};

use super::deadlines::Deadlines;
use super::{Origin, Peer};

/// One waiting LOOKUP.
#[derive(Clone, Debug)]
pub(super) struct Waiter {
    pub(super) peer: Peer,
    pub(super) envelope: Envelope,
    pub(super) name: Name,
}

/// Id of a LOOKUP, in the order of arrival.
type Id = u64;

#[derive(Debug)]
pub(super) struct Waiters {
    next_id: Id,
    waiters: HashMap<Id, Waiter>,
    by_name: Index<Name, Id>,
    by_peer: Index<Peer, Id>,
    by_origin: Index<Origin, Id>,
    deadlines: Deadlines<Id>,
}

impl Waiters {
    pub(super) fn new() -> Waiters {
        Waiters {
            next_id: 0,
            waiters: HashMap::new(),
            by_name: Index::default(),
            by_peer: Index::default(),
            by_origin: Index::default(),
            deadlines: Deadlines::new(),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.waiters.len()
    }

    pub(super) fn count_of(&self, peer: &Peer) -> usize {
        self.by_peer.count(peer)
    }

    pub(super) fn count_from(&self, origin: Origin) -> usize {
        self.by_origin.count(&origin)
    }

    pub(super) fn add(&mut self, waiter: Waiter, deadline: Duration) {
        let id = self.next_id;
        self.next_id += 1;
        self.by_name.add(&waiter.name, id);
        self.by_peer.add(&waiter.peer, id);
        self.by_origin.add(&waiter.peer.origin, id);
        self.deadlines.set(&id, deadline);
        self.waiters.insert(id, waiter);
    }

    /// Takes all LOOKUPs that wait for `name`, the oldest first.
    pub(super) fn take_of_name(&mut self, name: &Name) -> Vec<Waiter> {
        let ids = self.by_name.take(name);
        ids.into_iter().filter_map(|id| self.remove(id)).collect()
    }

    /// Removes all LOOKUPs of `peer`.
    pub(super) fn remove_of_peer(&mut self, peer: &Peer) {
        for id in self.by_peer.take(peer) {
            self.remove(id);
        }
    }

    /// Takes one LOOKUP whose wait is over.
    pub(super) fn pop_due(&mut self, now: Duration) -> Option<Waiter> {
        let id = self.deadlines.pop_due(now)?;
        self.remove(id)
    }

    pub(super) fn first_deadline(&self) -> Option<Duration> {
        self.deadlines.first()
    }

    fn remove(&mut self, id: Id) -> Option<Waiter> {
        let waiter = self.waiters.remove(&id)?;
        self.by_name.remove(&waiter.name, &id);
        self.by_peer.remove(&waiter.peer, &id);
        self.by_origin.remove(&waiter.peer.origin, &id);
        self.deadlines.remove(&id);
        Some(waiter)
    }
}
