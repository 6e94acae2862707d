//! `Entries`: the existing names, with counts per owner, peer and origin.
//!
//! An entry always counts against its owner and its origin, and against its peer while that is connected. The caller
//! enforces the limits.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

use hairstreak_base::Index;
use hairstreak_wire::directory::{Attributes, Endpoint, Name, Owner, Registration};

use super::deadlines::Deadlines;
use super::{Origin, Peer};

/// State of a name.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) owner: Owner,
    /// Connection of the last REGISTER. `None`: the connection is gone, and the entry is an orphan.
    pub(super) peer: Option<Peer>,
    /// Origin of that connection.
    origin: Origin,
    lease_end: Duration,
    pub(super) endpoint: Endpoint,
    pub(super) attributes: Attributes,
}

#[derive(Debug)]
pub(super) struct Entries {
    entries: BTreeMap<Name, Entry>,
    leases: Deadlines<Name>,
    by_owner: Index<Owner, Name>,
    by_peer: Index<Peer, Name>,
    by_origin: Index<Origin, Name>,
    /// Orphans by the end of their leases.
    orphans: BTreeSet<(Duration, Name)>,
    orphans_by_origin: Index<Origin, (Duration, Name)>,
}

impl Entries {
    pub(super) fn new() -> Entries {
        Entries {
            entries: BTreeMap::new(),
            leases: Deadlines::new(),
            by_owner: Index::default(),
            by_peer: Index::default(),
            by_origin: Index::default(),
            orphans: BTreeSet::new(),
            orphans_by_origin: Index::default(),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn count_of_owner(&self, owner: &Owner) -> usize {
        self.by_owner.count(owner)
    }

    pub(super) fn count_of_peer(&self, peer: &Peer) -> usize {
        self.by_peer.count(peer)
    }

    pub(super) fn count_of_origin(&self, origin: Origin) -> usize {
        self.by_origin.count(&origin)
    }

    pub(super) fn find(&self, name: &Name) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// Adds a name, and replaces an earlier entry of that name.
    pub(super) fn put(&mut self, registration: Registration, peer: Peer, lease_end: Duration) {
        let Registration { name, owner, endpoint, attributes, .. } = registration;
        self.remove(&name);
        self.by_owner.add(&owner, name.clone());
        self.by_peer.add(&peer, name.clone());
        self.by_origin.add(&peer.origin, name.clone());
        self.leases.set(&name, lease_end);
        let origin = peer.origin;
        self.entries.insert(name, Entry { owner, peer: Some(peer), origin, lease_end, endpoint, attributes });
    }

    pub(super) fn remove(&mut self, name: &Name) {
        let Some(entry) = self.entries.remove(name) else { return };
        self.leases.remove(name);
        self.by_owner.remove(&entry.owner, name);
        self.by_origin.remove(&entry.origin, name);
        match &entry.peer {
            Some(peer) => self.by_peer.remove(peer, name),
            None => {
                let orphan = (entry.lease_end, name.clone());
                self.orphans.remove(&orphan);
                self.orphans_by_origin.remove(&entry.origin, &orphan);
            }
        }
    }

    /// Removes one name whose lease is over, and returns it.
    pub(super) fn pop_expired(&mut self, now: Duration) -> Option<Name> {
        let name = self.leases.pop_due(now)?;
        self.remove(&name);
        Some(name)
    }

    pub(super) fn first_lease_end(&self) -> Option<Duration> {
        self.leases.first()
    }

    /// Turns all entries of `peer` into orphans, which end at `lease_end_max` at the latest.
    pub(super) fn orphan(&mut self, peer: &Peer, lease_end_max: Duration) {
        for name in self.by_peer.take(peer) {
            let Some(entry) = self.entries.get_mut(&name) else { continue };
            entry.peer = None;
            entry.lease_end = entry.lease_end.min(lease_end_max);
            self.leases.set(&name, entry.lease_end);
            self.orphans_by_origin.add(&entry.origin, (entry.lease_end, name.clone()));
            self.orphans.insert((entry.lease_end, name));
        }
    }

    /// Returns the orphan that ends first.
    pub(super) fn first_orphan(&self) -> Option<&Name> {
        self.orphans.first().map(|(_, name)| name)
    }

    /// Returns the orphan of that origin that ends first.
    pub(super) fn first_orphan_of(&self, origin: Origin) -> Option<&Name> {
        self.orphans_by_origin.first(&origin).map(|(_, name)| name)
    }

    /// Returns the names that begin with `prefix` and follow `after`, in order.
    pub(super) fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: &str,
    ) -> impl Iterator<Item = (&'a Name, &'a Endpoint)> {
        let from = if after < prefix { Bound::Included(prefix) } else { Bound::Excluded(after) };
        self.entries
            .range::<str, _>((from, Bound::Unbounded))
            .take_while(move |(name, _)| name.as_str().starts_with(prefix))
            .map(|(name, entry)| (name, &entry.endpoint))
    }
}
