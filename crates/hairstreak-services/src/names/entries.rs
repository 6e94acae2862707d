//! `Entries`: the names that exist, and whom each counts against.
//!
//! An entry counts against its owner and its origin always and against its peer while that is connected. Limits
//! are the caller's business; the tallies are kept here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

use hairstreak_base::Index;
use hairstreak_wire::directory::{Attributes, Endpoint, Name, Owner, Registration};

use super::deadlines::Deadlines;
use super::{Origin, Peer};

/// What is known of a name.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) owner: Owner,
    /// The connection that its last REGISTER came over; `None`: gone, the entry is an orphan.
    pub(super) peer: Option<Peer>,
    /// Where that connection came from.
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
    /// By when they end.
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

    /// Enters a name, in the place of what stood there.
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

    /// Takes a name whose lease is over out.
    pub(super) fn pop_expired(&mut self, now: Duration) -> Option<Name> {
        let name = self.leases.pop_due(now)?;
        self.remove(&name);
        Some(name)
    }

    pub(super) fn first_lease_end(&self) -> Option<Duration> {
        self.leases.first()
    }

    /// Makes orphans of all entries of `peer`, which end at `lease_end_max` at the latest.
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

    /// The orphan that ends first.
    pub(super) fn first_orphan(&self) -> Option<&Name> {
        self.orphans.first().map(|(_, name)| name)
    }

    /// The orphan from there that ends first.
    pub(super) fn first_orphan_of(&self, origin: Origin) -> Option<&Name> {
        self.orphans_by_origin.first(&origin).map(|(_, name)| name)
    }

    /// Names that begin with `prefix` and stand behind `after`, in order.
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
