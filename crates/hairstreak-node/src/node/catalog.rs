//! `Catalog`: the definitions that are not exchanges, queues and bindings, as they were given.
//!
//! Exchanges, queues and bindings live in their virtual hosts, and nowhere else.

use std::collections::BTreeMap;

use parking_lot::RwLock;

use crate::definitions::{Definition, Kind, Place};

/// Definitions by kind and place.
#[derive(Debug, Default)]
pub struct Catalog {
    kinds: RwLock<BTreeMap<Kind, BTreeMap<Vec<u8>, Definition>>>,
}

impl Catalog {
    /// Puts a definition in the place of the one before, which is returned.
    pub fn put(&self, definition: Definition) -> Option<Definition> {
        let Place { kind, key } = definition.place();
        self.kinds.write().entry(kind).or_default().insert(key, definition)
    }

    /// Takes a definition out.
    pub fn remove(&self, place: &Place) -> Option<Definition> {
        self.kinds.write().get_mut(&place.kind)?.remove(&place.key)
    }

    pub fn find(&self, place: &Place) -> Option<Definition> {
        self.kinds.read().get(&place.kind)?.get(&place.key).cloned()
    }

    /// The number of definitions of a kind that belong to a virtual host; `None`: to the node.
    pub fn count(&self, kind: Kind, virtual_host: Option<&str>) -> usize {
        let kinds = self.kinds.read();
        let all = kinds.get(&kind).into_iter().flat_map(BTreeMap::values);
        all.filter(|definition| definition.virtual_host() == virtual_host).count()
    }

    /// All definitions of a kind, by their names.
    pub fn all(&self, kind: Kind) -> Vec<Definition> {
        self.kinds.read().get(&kind).map(|all| all.values().cloned().collect()).unwrap_or_default()
    }
}
