//! `Index`: which values stand under each key, in their order. A key without any takes no memory.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

#[derive(Debug)]
pub(super) struct Index<K, V>(HashMap<K, BTreeSet<V>>);

impl<K: Eq + Hash + Clone, V: Ord> Index<K, V> {
    pub(super) fn new() -> Index<K, V> {
        Index(HashMap::new())
    }

    pub(super) fn count(&self, key: &K) -> usize {
        self.0.get(key).map_or(0, BTreeSet::len)
    }

    pub(super) fn add(&mut self, key: &K, value: V) {
        self.0.entry(key.clone()).or_default().insert(value);
    }

    pub(super) fn remove(&mut self, key: &K, value: &V) {
        if let Some(values) = self.0.get_mut(key) {
            values.remove(value);
            if values.is_empty() {
                self.0.remove(key);
            }
        }
    }

    /// The first value of a key.
    pub(super) fn first(&self, key: &K) -> Option<&V> {
        self.0.get(key)?.first()
    }

    /// Takes all values of a key out.
    pub(super) fn take(&mut self, key: &K) -> BTreeSet<V> {
        self.0.remove(key).unwrap_or_default()
    }
}
