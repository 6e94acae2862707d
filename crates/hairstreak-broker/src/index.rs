//! `Index`: which values stand under each key, in their order. A key without any takes no memory.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

#[derive(Debug)]
pub(crate) struct Index<K, V>(HashMap<K, BTreeSet<V>>);

impl<K: Eq + Hash + Clone, V: Ord> Index<K, V> {
    pub(crate) fn new() -> Index<K, V> {
        Index(HashMap::new())
    }

    pub(crate) fn count(&self, key: &K) -> usize {
        self.0.get(key).map_or(0, BTreeSet::len)
    }

    pub(crate) fn add(&mut self, key: &K, value: V) {
        self.0.entry(key.clone()).or_default().insert(value);
    }

    pub(crate) fn remove(&mut self, key: &K, value: &V) {
        if let Some(values) = self.0.get_mut(key) {
            values.remove(value);
            if values.is_empty() {
                self.0.remove(key);
            }
        }
    }

    /// The values of a key from `first` on.
    pub(crate) fn iter_from<'a>(&'a self, key: &K, first: V) -> impl Iterator<Item = &'a V> + use<'a, K, V> {
        self.0.get(key).into_iter().flat_map(move |values| values.range(&first..))
    }

    /// The first value of a key.
    pub(crate) fn first(&self, key: &K) -> Option<&V> {
        self.0.get(key)?.first()
    }

    /// Takes all values of a key out.
    pub(crate) fn take(&mut self, key: &K) -> BTreeSet<V> {
        self.0.remove(key).unwrap_or_default()
    }
}
